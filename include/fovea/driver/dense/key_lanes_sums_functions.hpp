// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the engine knows of normalizer and aggregator with keys in lanes: their sizes, and the functions that are
// compiled for them, each for a block at a time.
#pragma once

#include <fovea/driver/dense/key_lanes_functions.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

template <class T, class Arch>
class packed_values;

/// What is carried for the rows of a tile from one run of keys to the next.
template <class T>
struct row_sums {
    void* states = nullptr;  // (rows), what a normalizer carries
    T* sums = nullptr;       // (rows, value_width)
};

/// Scores of all rows of a tile, in packs, which become weights.
template <class T>
struct row_scores {
    T* scores;  // (rows, stride)
    index_t stride, packs;
    index_t first_key;
};

/// Weights (rows, stride) of a tile for `count` keys of a block, from its key `key` on.
template <class T>
struct weight_tile {
    T* first;
    index_t stride;
    index_t rows;
    int mr;  // of the register tile
    index_t block, key, count;
    bool const* visible = nullptr;  // (rows, stride), where values are not finite
};

/// The unfinished sums and states of one row over each split of the keys, from the first split on.
template <class T>
struct partial_row {
    T* sums;       // (splits, sum_stride), of which `width` are one row's
    char* states;  // (splits, state_stride)
    index_t splits, sum_stride, state_stride, width;
};

template <class T, class Arch>
struct key_lanes_sums_functions {
    using rows = key_lanes_rows<T, Arch>;
    using values = packed_values<T, Arch>;

    index_t state_bytes;   // of a row
    index_t keys_per_row;  // of packed values
    bool loads_values;     // values do not lie in memory as numbers
    bool selects, is_linear, clears_excluded;
    T start;  // of a sum

    /// States, at the beginning of a tile.
    void (*begin)(row_sums<T> const&);
    /// The values of a block, unless they are read in place.
    void (*pack)(dense_rows const&, values&, index_t block);
    bool (*all_finite)(dense_rows const&, row_range const& values);
    /// Scores become weights; `rescale` becomes the factors of the sums so far: (rows).
    void (*fold)(dense_rows const&, rows const&, row_sums<T> const&, row_scores<T> const&, T* rescale);
    /// Rescales the sums, and adds the values times their weights.
    void (*add)(dense_rows const&, T* sums, values const&, weight_tile<T> const&, T const* rescale, next_lines&);
    /// As add, without the values of excluded pairs: where values are not finite.
    void (*add_visible)(dense_rows const&, T* sums, values const&, weight_tile<T> const&, T const* rescale);
    /// Adds the values whose weight is not 0, where these are few; returns false, and adds nothing, otherwise.
    bool (*add_nonzero)(dense_rows const&, T* sums, values const&, weight_tile<T> const&);
    /// Results of all rows.
    void (*finish)(dense_rows const&, rows const&, row_sums<T> const&);
    /// Merges what the splits have left of one row, and writes its result.
    void (*merge_splits)(dense_rows const&, kernel::row_facts const&, partial_row<T> const&);
    /// Scores of whole rows become their final weights; outputs that read rows get both.
    void (*normalize)(dense_rows const&, rows const&, row_sums<T> const&, row_scores<T> const&, bool const* visible);
};

/// A dense call with a key in each lane: its scores, and what is made of them.
template <class T, class Arch>
struct key_lanes_attention : key_lanes_call<T, Arch> {
    key_lanes_sums_functions<T, Arch> const& sums;

    template <class Operands>
    key_lanes_attention(plan::call_plan const& how_run, Operands const& all, dense_rows::coverage_function of_mask,
                        key_lanes_functions<T, Arch> const& of_scores, key_lanes_sums_functions<T, Arch> const& of_sums)
        : key_lanes_call<T, Arch>(how_run, all, of_mask, of_scores), sums(of_sums) {}

    /// Elements of a row of sums.
    index_t value_width() const {
        return round_up(std::max<index_t>(this->value_features, 1), kernel::pack<T, Arch>::lanes);
    }
};

}  // namespace fovea::FOVEA_SET::driver
