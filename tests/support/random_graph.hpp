// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/graph.hpp>
#include <fovea/testing/random.hpp>

#include <vector>

/// Edges between random nodes, some of them twice; the queries 0, 5, 10, ... have none.
inline fovea::graph random_graph(fovea::index_t queries, fovea::index_t keys, int edges, unsigned seed = 3) {
    fovea::testing::dice random(seed);
    std::vector<fovea::graph::edge> all;
    while (static_cast<int>(all.size()) < edges) {
        fovea::graph::edge const e{random.between(0, queries - 1), random.between(0, keys - 1)};
        if (e.to % 5 == 0) continue;
        all.push_back(e);
        if (random.chance(0.1)) all.push_back(e);
    }
    return {queries, all};
}
