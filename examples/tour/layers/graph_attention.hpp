// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A layer of a graph attention network with its weights (Velickovic et al. 2018, equations 1 to 6).
#pragma once

#include "layers/dense.hpp"

#include <fovea/fovea.hpp>

namespace layers {

/// Four heads, side by side, through elu.
struct graph_attention_layer {
    matrix weight;
    matrix target, source;  // (head, feature)

    graph_attention_layer(fovea::testing::dice& random, index_t inputs, index_t size)
        : weight(weights(random, inputs, 4 * size)), target(weights(random, 4, size)), source(weights(random, 4, size)) {}

    matrix operator()(matrix const& nodes, fovea::graph const& graph) const {
        using namespace fovea;
        using namespace fovea::placeholders;
        auto const attention = project(weight, weight, weight, heads<4>) | gat_score(target, source) | neighbors(graph) |
                               softmax | weighted_sum | concat_heads | map(elu(out));
        matrix result({nodes.extent(0), weight.extent(1)});
        attend(attention, nodes, result);
        return result;
    }
};

}  // namespace layers
