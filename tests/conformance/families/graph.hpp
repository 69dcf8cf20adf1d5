// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared by the two files of the graph family: edges, projections, and one layer.
#pragma once

#include "engines.hpp"
#include "load.hpp"
#include "outcome.hpp"
#include "projected.hpp"

#include <fovea/fovea.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace conformance {

using fovea::index_t;

/// The edges that attention runs over, in the order of the case's `alpha`, and what is known of each, if anything.
template <class T>
struct edge_list {
    std::vector<fovea::graph::edge> edges;
    fovea::tensor<T, 2> features;  // (edge, feature)

    explicit edge_list(test_case const& subject) {
        auto const& stored = subject["edge_index"];
        auto const ends = stored.as<std::int64_t>();  // sources, then targets
        auto const count = static_cast<std::size_t>(stored.shape.at(1));
        auto const given =
            subject.has("edge_attr") ? load<T, 2>(subject["edge_attr"]) : fovea::tensor<T, 2>({stored.shape[1], 0});
        bool const add_loops = subject.attribute<bool>("add_self_loops");
        index_t const size = given.extent(1);
        for (std::size_t e = 0; e < count; ++e) {
            if (add_loops && ends[e] == ends[count + e]) continue;
            given_.push_back(static_cast<index_t>(e));
            edges.push_back({ends[count + e], ends[e]});
            auto const from = given.begin() + static_cast<index_t>(e) * size;
            features.elements.insert(features.elements.end(), from, from + size);
        }
        auto const listed = edges;
        auto const nodes = add_loops ? subject.attribute<std::int64_t>("num_nodes") : 0;
        for (index_t node = 0; node < nodes; ++node) {
            edges.push_back({node, node});
            for (index_t c = 0; c < size; ++c) features.elements.push_back(filled_in(subject, listed, node, c, size));
        }
        features.extents = {static_cast<index_t>(edges.size()), size};
    }

    /// The gradients of the features that are given, from those of all.
    std::vector<T> of_given(test_case const& subject, fovea::tensor<T, 2> const& d_features) const {
        auto const rule = rule_of(subject);
        index_t const size = features.extent(1), listed = static_cast<index_t>(given_.size());
        fovea::tensor<T, 2> result({subject["edge_index"].shape.at(1), size});
        for (index_t e = 0; e < listed; ++e)
            for (index_t c = 0; c < size; ++c) result(given_[static_cast<std::size_t>(e)], c) += d_features(e, c);
        if (rule == "number") return result.elements;
        bool const extreme = rule == "min" || rule == "max", mean = rule == "mean";
        if (!extreme && !mean && rule != "add" && rule != "sum")
            throw malformed(subject.name() + ": features filled in by " + rule + " have no gradient");
        for (index_t loop = listed; loop < d_features.extent(0); ++loop)
            for (index_t c = 0; c < size; ++c) {
                // Those that the feature is made of: all edges into the node, or the least or greatest among them.
                auto const made_of = [&](index_t e) {
                    return edges[static_cast<std::size_t>(e)].to == edges[static_cast<std::size_t>(loop)].to
                        && (!extreme || features(e, c) == features(loop, c));
                };
                T count = 0;
                for (index_t e = 0; e < listed; ++e) count += made_of(e) ? T(1) : T(0);
                for (index_t e = 0; e < listed; ++e)
                    if (made_of(e))
                        result(given_[static_cast<std::size_t>(e)], c) +=
                            d_features(loop, c) / (extreme || mean ? count : T(1));
            }
        return result.elements;
    }

private:
    std::vector<index_t> given_;  // where the first of the edges stand in the case

    static std::string rule_of(test_case const& subject) {
        try {
            return subject.attribute<std::string>("fill_value", "mean");
        } catch (malformed const&) {
            return "number";
        }
    }
    /// Feature c of a self loop that has been added: a number, or made of those of the edges into the node.
    T filled_in(test_case const& subject, std::vector<fovea::graph::edge> const& listed, index_t node, index_t c,
                index_t size) const {
        auto const rule = rule_of(subject);
        if (rule == "number") return static_cast<T>(subject.attribute<double>("fill_value"));
        std::vector<T> found;
        for (std::size_t e = 0; e < listed.size(); ++e)
            if (listed[e].to == node)
                found.push_back(features.elements[e * static_cast<std::size_t>(size) + static_cast<std::size_t>(c)]);
        if (found.empty()) return T(0);
        if (rule == "min") return *std::min_element(found.begin(), found.end());
        if (rule == "max") return *std::max_element(found.begin(), found.end());
        T const sum = std::accumulate(found.begin(), found.end(), T(0));
        if (rule == "add" || rule == "sum") return sum;
        if (rule == "mean") return sum / static_cast<T>(found.size());
        throw malformed(subject.name() + ": there is no fill_value " + rule);
    }
};

/// Weights over (head, query, key) as the case has them, (edge, head); edges that are listed twice share a weight.
template <class T>
fovea::tensor<T, 2> weights_of_edges(fovea::tensor<T, 3> const& weights, std::vector<fovea::graph::edge> const& edges) {
    std::map<std::pair<index_t, index_t>, index_t> listed;
    for (auto const& each : edges) ++listed[{each.to, each.from}];
    fovea::tensor<T, 2> result({static_cast<index_t>(edges.size()), weights.extent(0)});
    for (index_t e = 0; e < result.extent(0); ++e) {
        auto const& edge = edges[static_cast<std::size_t>(e)];
        for (index_t h = 0; h < result.extent(1); ++h)
            result(e, h) = weights(h, edge.to, edge.from) / static_cast<T>(listed[{edge.to, edge.from}]);
    }
    return result;
}

/// (1, heads, features) as (heads, features).
template <class T>
fovea::tensor<T, 2> load_per_head(tensor const& stored) {
    fovea::tensor<T, 2> loaded({stored.shape.at(1), stored.shape.at(2)});
    loaded.elements = stored.as<T>();
    return loaded;
}

/// x W^T + b; without bias if the case has none.
template <class T>
struct projection {
    fovea::tensor<T, 2> matrix;
    std::vector<T> bias;

    projection(fovea::tensor<T, 2> m, std::vector<T> b) : matrix(std::move(m)), bias(std::move(b)) {}
    projection(test_case const& subject, std::string const& name) : matrix(load<T, 2>(subject[name + "_weight"])) {
        if (subject.has(name + "_bias")) bias = subject[name + "_bias"].as<T>();
    }
    auto map() const {
        fovea::view<T const, 1> b;
        if (!bias.empty()) b = {bias.data(), {static_cast<index_t>(bias.size())}};
        return fovea::linear(fovea::transposed(matrix), b);
    }
    /// The map of a row and further features behind it: the sum of what both maps give.
    projection beside(fovea::tensor<T, 2> const& further) const {
        index_t const first = matrix.extent(1);
        fovea::tensor<T, 2> both({matrix.extent(0), first + further.extent(1)});
        for (index_t i = 0; i < both.extent(0); ++i)
            for (index_t c = 0; c < both.extent(1); ++c) both(i, c) = c < first ? matrix(i, c) : further(i, c - first);
        return {both, bias};
    }
};

/// No bias is a bias of zeros.
template <class T>
std::vector<T> load_bias(test_case const& subject) {
    if (subject.has("bias")) return subject["bias"].as<T>();
    return std::vector<T>(static_cast<std::size_t>(subject["out"].shape.at(1)));
}

/// One layer: who looks at what along which edges, and what comes out. Where edges have features, the keys of a node
/// are its edges: each brings the features of the node it comes from.
template <class Engine>
class layer {
public:
    using T = typename Engine::value;

    layer(test_case const& subject, checks& all, fovea::tensor<T, 2> const& to, fovea::tensor<T, 2> const& from)
        : subject_(subject),
          all_(all),
          list_(subject),
          heads_(subject.attribute<std::int64_t>("heads")),
          by_edge_(list_.features.extent(1) > 0),
          graph_(to.extent(0), by_edge_ ? to_edges() : list_.edges),
          targets_(to),
          memory_(by_edge_ ? rows_of_edges(from) : from),
          result({to.extent(0), subject["out"].shape.at(1)}),
          weights_({heads_, to.extent(0), memory_.extent(0)}) {}

    index_t heads() const { return heads_; }
    bool by_edge() const { return by_edge_; }
    fovea::tensor<T, 2> const& targets() const { return targets_; }
    fovea::tensor<T, 2> const& memory() const { return memory_; }
    edge_list<T> const& edges() const { return list_; }
    fovea::tensor<T, 2> const& edge_features() const { return list_.features; }

    /// Projects, scores, joins the heads and finishes; with `Counts`, these numbers of heads are made by project.
    template <int... Counts>
    void attend(auto const& query, auto const& key, auto const& value, auto const& scored, auto const& last) {
        with_heads<Counts...>(
            heads_,
            [&](auto const& heads) {
                join(fovea::project(query, key, value, heads) | scored, last, [&](auto const& attention) {
                    Engine::attend(attention, fovea::queries(targets_), fovea::memory(memory_), result.view(),
                                   fovea::weights(weights_.view()));
                });
            },
            [&] {
                auto const q_rows = projected<Engine>(query, targets_), k_rows = projected<Engine>(key, memory_);
                auto const v_rows = projected<Engine>(value, memory_);
                join(fovea::empty_attention{} | scored, last, [&](auto const& attention) {
                    Engine::attend(attention, split(q_rows, heads_), split(k_rows, heads_), split(v_rows, heads_),
                                   result.view(), fovea::weights(weights_.view()));
                });
            });
    }

    /// run(attention) with a score over the edges, and what follows.
    void join(auto const& scored, auto const& last, auto const& run) const {
        auto const aggregated = scored | fovea::neighbors(graph_) | fovea::softmax | fovea::weighted_sum;
        if (subject_.attribute<bool>("concat")) run(aggregated | fovea::concat_heads | last);
        else run(aggregated | fovea::mean_heads | last);
    }

    void compare() {
        all_.compare(Engine::name, Engine::computes, "out", result);
        if (!subject_.has("alpha")) return;
        auto const edges = static_cast<index_t>(list_.edges.size());
        all_.compare(Engine::name, Engine::computes, "alpha",
                     weights_of_edges(weights_, by_edge_ ? to_edges() : list_.edges));
        fovea::tensor<std::int64_t, 2> ends({2, edges});
        for (index_t e = 0; e < edges; ++e) {
            ends(0, e) = list_.edges[static_cast<std::size_t>(e)].from;
            ends(1, e) = list_.edges[static_cast<std::size_t>(e)].to;
        }
        all_.compare(Engine::name, Engine::computes, "alpha_edge_index", ends);
    }

private:
    std::vector<fovea::graph::edge> to_edges() const {
        auto edges = list_.edges;
        for (std::size_t e = 0; e < edges.size(); ++e) edges[e].from = static_cast<index_t>(e);
        return edges;
    }
    fovea::tensor<T, 2> rows_of_edges(fovea::tensor<T, 2> const& nodes) const {
        index_t const of_node = nodes.extent(1);
        fovea::tensor<T, 2> rows({list_.features.extent(0), of_node + list_.features.extent(1)});
        for (index_t e = 0; e < rows.extent(0); ++e)
            for (index_t c = 0; c < rows.extent(1); ++c)
                rows(e, c) = c < of_node ? nodes(list_.edges[static_cast<std::size_t>(e)].from, c)
                                         : list_.features(e, c - of_node);
        return rows;
    }
    test_case const& subject_;
    checks& all_;
    edge_list<T> list_;
    index_t heads_;
    bool by_edge_;
    fovea::graph graph_;
    fovea::tensor<T, 2> targets_, memory_;

public:
    fovea::tensor<T, 2> result;

private:
    fovea::tensor<T, 3> weights_;
};

/// Compares all gradients of a case.
void compare_graph_gradients(test_case const& subject, checks& all);

}  // namespace conformance
