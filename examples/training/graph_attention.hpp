// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A graph attention network of two layers that learns: each layer is one specification, for attend and for gradient.
#pragma once

#include "layers.hpp"

#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

namespace training {

/// The parameters of a layer of graph attention, for heads of a size (Velickovic et al. 2018, equations 1 to 6).
struct graph_attention_layer {
    static constexpr int head_count = 4;
    parameter weight, target, source;

    graph_attention_layer(dice& random, Index inputs, Index size)
        : weight(random_matrix(random, inputs, head_count * size)),
          target(random_matrix(random, size, head_count).transpose()),
          source(random_matrix(random, size, head_count).transpose()) {}

    /// The specification up to what joins the heads.
    auto attention(fovea::graph const& graph) const {
        using namespace fovea;
        return project(weight.value, weight.value, weight.value, heads<head_count>)
             | gat_score(target.value, source.value) | neighbors(graph) | softmax | weighted_sum;
    }
    void visit(auto const& found) { found(weight), found(target), found(source); }
};

//! [network]
/// Four heads side by side, then four heads averaged: a number for each node and class.
struct graph_attention_network {
    fovea::graph const& graph;
    graph_attention_layer first, second;
    matrix hidden;

    graph_attention_network(dice& random, fovea::graph const& nodes, Index inputs, Index size, Index classes)
        : graph(nodes), first(random, inputs, size), second(random, 4 * size, classes) {}

    auto first_attention() const {
        return first.attention(graph) | fovea::concat_heads | fovea::map(elu(fovea::placeholders::out));
    }
    auto second_attention() const { return second.attention(graph) | fovea::mean_heads; }

    /// Extra outputs, such as weights, are of the second layer.
    template <class... Extra>
    matrix operator()(matrix const& x, Extra const&... extra) {
        hidden.resize(x.rows(), first.weight.value.cols());
        matrix result(x.rows(), second.weight.value.cols() / graph_attention_layer::head_count);
        attend(first_attention(), x, hidden);
        attend(second_attention(), hidden, result, extra...);
        return result;
    }
    /// From the last layer to the first: each call of gradient has the arguments of its attend.
    void backward(matrix const& x, matrix const& d_result) {
        matrix d_hidden(hidden.rows(), hidden.cols());
        fovea::gradient(second_attention(), hidden, d_result, fovea::grad(hidden, d_hidden),
                        fovea::grad(second.weight.value, second.weight.gradient),
                        fovea::grad(second.target.value, second.target.gradient),
                        fovea::grad(second.source.value, second.source.gradient));
        fovea::gradient(first_attention(), x, d_hidden, fovea::grad(first.weight.value, first.weight.gradient),
                        fovea::grad(first.target.value, first.target.gradient),
                        fovea::grad(first.source.value, first.source.gradient));
    }
    void visit(auto const& found) { first.visit(found), second.visit(found); }
};
//! [network]

}  // namespace training
