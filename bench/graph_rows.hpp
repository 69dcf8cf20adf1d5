// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The random graph of the size of a citation network, and the features of its nodes.
#pragma once

#include "bench/shape.hpp"
#include "bench/yardstick/power_law_graph.hpp"
#include "bench/yardstick/random.hpp"

namespace bench {

inline constexpr shape citation_sizes{.heads = 8, .length = 169343, .size = 8};
inline constexpr std::int32_t citation_edges = 1166243;

inline fovea::graph const& citations() {
    static fovea::graph const graph =
        yardstick::power_law_graph(static_cast<std::int32_t>(citation_sizes.length), citation_edges, 1);
    return graph;
}

inline fovea::tensor<float, 2> score_weights(std::uint64_t seed) {
    return yardstick::random_tensor<float, 2>({citation_sizes.heads, citation_sizes.size}, seed, 0.3);
}

/// The heads of a node side by side, as a projection leaves them, and seen as (batch, head, node, feature).
struct node_features {
    shape of;
    fovea::tensor<float, 2> stored;

    explicit node_features(std::uint64_t seed, shape const& s = citation_sizes)
        : of(s), stored(yardstick::random_tensor<float, 2>({s.length, s.heads * s.size}, seed)) {}
    fovea::view<float, 4> heads() {
        return {stored.data(), {1, of.heads, of.length, of.size}, {stored.size(), of.size, stored.extent(1), 1}};
    }
};

}  // namespace bench
