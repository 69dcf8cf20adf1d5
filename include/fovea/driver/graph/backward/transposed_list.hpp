// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A list of keys turned around: for each key the queries that see it.
#pragma once

#include <fovea/core/graph.hpp>
#include <fovea/driver/run/arena.hpp>

#include <algorithm>
#include <utility>

namespace fovea::FOVEA_SET::driver {

/// The queries of each key, in the order of the list.
struct transposed_list {
    index_t const* offsets;       // (keys + 1)
    std::int32_t const* queries;  // (edges)
    index_t const* numbers;       // (edges) of the edges, where they are asked for
    index_t const* places;        // (edges) of the edges in the list that is turned around, where they are asked for

    std::span<std::int32_t const> of(index_t key) const {
        return {queries + offsets[key], static_cast<std::size_t>(offsets[key + 1] - offsets[key])};
    }
};

/// Sorts edges by their keys, by counting.
inline transposed_list transposed(graph_view const& graph, index_t keys, bool numbered, bool placed, arena& memory) {
    auto* const offsets = memory.take<index_t>(keys + 1);
    auto* const queries = memory.take<std::int32_t>(std::max<index_t>(graph.edges(), 1));
    auto* const numbers = memory.take<index_t>(numbered ? graph.edges() : 0);
    auto* const places = memory.take<index_t>(placed ? graph.edges() : 0);
    std::fill_n(offsets, keys + 1, index_t{0});
    for (auto const key : graph.keys) ++offsets[key];
    index_t before = 0;
    for (index_t k = 0; k <= keys; ++k) before += std::exchange(offsets[k], before);
    index_t edge = 0;
    for (index_t q = 0; q < graph.queries(); ++q)
        for (auto const key : graph.of(q)) {
            index_t const place = offsets[key]++;
            queries[place] = static_cast<std::int32_t>(q);
            if (numbered) numbers[place] = graph.number(edge);
            if (placed) places[place] = edge;
            ++edge;
        }
    std::copy_backward(offsets, offsets + keys, offsets + keys + 1);  // each was moved to where the next one began
    offsets[0] = 0;
    return {offsets, queries, numbers, places};
}

}  // namespace fovea::FOVEA_SET::driver
