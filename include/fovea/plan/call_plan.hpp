// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan of a call as a value: which traversal runs it and how, and where its keys are divided for split KV.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::plan {

/// The keys of a head in splits (split KV), which threads share where rows are few. Where they are cut depends on the
/// numbers of keys and rows, never on that of threads, so results have the same bits for any number of threads.
class key_splits {
public:
    constexpr key_splits() = default;
    /// One split unless there are few rows: many rows are divided among the threads themselves.
    constexpr key_splits(index_t key_blocks, bool few_rows)
        : blocks_(key_blocks),
          size_(few_rows ? std::max<index_t>(least, ceil_div(key_blocks, most)) : std::max<index_t>(key_blocks, 1)),
          count_(std::max<index_t>(ceil_div(key_blocks, size_), 1)) {}

    constexpr index_t count() const { return count_; }
    /// Blocks of keys [first, last) of a split.
    constexpr index_t first(index_t split) const { return split * size_; }
    constexpr index_t last(index_t split) const { return std::min((split + 1) * size_, blocks_); }

private:
    static constexpr index_t least = 16, most = 32;  // blocks of a split, splits

    index_t blocks_ = 0, size_ = 1, count_ = 1;
};

enum class traversal {
    query_lanes,    // dense, a query in each lane
    key_lanes,      // dense, a key in each lane
    whole_rows,     // the same, keeping the scores of a few rows over all keys that they see
    split_keys,     // the same for few queries: each split of the keys by itself, then all merged
    listed_keys,    // the edges of a graph
    running_state,  // one query after the other
};

/// The blocks of a dense traversal: rows are queries of the heads that share keys.
struct block_sizes {
    index_t tile_rows = 0, panel_keys = 0;  // what a mask is classified for: full, mixed or empty
    index_t block_rows = 0, block_keys = 0;
};
template <class Blocking>
constexpr block_sizes block_sizes_of{Blocking::rows, Blocking::panel, Blocking::block_rows, Blocking::block_keys};

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
    block_sizes blocks{};
    reading keys = reading::in_place, values = reading::in_place;
    index_t tile_heads = 1;    // heads whose queries are rows of one tile
    index_t rows = 0;          // that a tile computes: fewer than it may have where queries are few
    bool matrix_unit = false;  // computes the products of queries in lanes
    index_t sums = 0;          // vectors that a product of scores keeps in registers
    key_splits splits{};       // of the keys of each head
    bool fixed_order = false;  // of sums: each block of keys that a row sees is taken as a whole
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
    return plan.keys == reading::packed && !plan.fixed_order && features >= least_multiplied_features;
}

}  // namespace fovea::FOVEA_SET::plan
