// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan of a call as a value: which traversal runs it, and how.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/plan/key_splits.hpp>

namespace fovea::FOVEA_SET::plan {

enum class traversal {
    query_lanes,    // dense, a query in each lane
    key_lanes,      // dense, a key in each lane
    whole_rows,     // the same, keeping the scores of a few rows over all keys that they see
    split_keys,     // the same for few queries: each split of the keys by itself, then all merged
    listed_keys,    // the edges of a graph
    running_state,  // one query after the other
};

/// The blocks of a dense traversal: rows are queries of the heads that share keys.
struct blocking {
    index_t tile_rows = 0, panel_keys = 0;  // what a mask is classified for: full, mixed or empty
    index_t block_rows = 0, block_keys = 0;
};
template <class Shape>
constexpr blocking blocking_of{Shape::rows, Shape::panel, Shape::block_rows, Shape::block_keys};

/// How products read rows of keys, or of values.
enum class reading {
    in_place,  // as they are stored
    copied,    // a block at a time: converted, or gathered out of pages
    packed,    // a block at a time, in the layout of the register tiles
};

/// The sizes of a call that its plan depends on.
struct call_sizes {
    index_t queries, group, keys, features, value_features;
    index_t keys_per_run = keys, values_per_run = keys;  // rows at equal distances: all in a view, those of a page
    index_t key_alignment = cache_line;                  // bytes
};

/// How a call is run. The other traversals leave what belongs to one of them as it is here.
struct call_plan {
    traversal by;
    // dense
    blocking blocks{};
    reading keys = reading::in_place, values = reading::in_place;
    index_t tile_heads = 1;    // heads whose queries are rows of one tile
    index_t rows = 0;          // that a tile computes: fewer than it may have where queries are few
    bool matrix_unit = false;  // computes the products of queries in lanes
    index_t sums = 0;          // vectors that a product of scores keeps in registers
    key_splits splits{};       // of the keys of each head
    // listed keys
    bool heads_in_lanes = false;  // the heads of a query are normalized at once, a head in each lane
    // running state
    index_t steps_per_pass = 0;  // keys that update the state each time that it is loaded
};

/// The features of a squared distance from which on a product saves more than what is computed beside it costs.
inline constexpr index_t least_multiplied_features = 16;

/// True where squared distances over so many features are made of a product: keys are then packed, which many rows
/// share.
constexpr bool multiplies_squares(call_plan const& plan, index_t features) {
    return plan.keys == reading::packed && features >= least_multiplied_features;
}

}  // namespace fovea::FOVEA_SET::plan
