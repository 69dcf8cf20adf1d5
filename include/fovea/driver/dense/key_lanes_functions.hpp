// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the engine knows of a specification with keys in lanes: its sizes, and the functions that are compiled for it,
// each for a block at a time.
#pragma once

#include <fovea/driver/dense/dense_rows.hpp>
#include <fovea/driver/products.hpp>

namespace fovea::FOVEA_SET::driver {

template <class T, class Arch>
class packed_keys;

/// The rows of a tile with a key in each lane, up to `shape::rows` queries of one key/value head: query heads that
/// share keys are rows of one tile, so keys are read once per group.
template <class T, class Arch>
struct key_lanes_rows {
    using shape = plan::key_lanes_blocking<T, Arch>;

    head_group heads{};
    index_t first = 0, count = 0;  // rows
    int mr = shape::rows;          // of the register tile
    kernel::row_facts facts[shape::rows];
    T* factors = nullptr;        // (products, features, mr); for keys in place (products, packs, mr, lanes)
    T* scales = nullptr;         // (products, rows)
    T* terms = nullptr;          // (rows, row terms)
    index_t* indices = nullptr;  // (rows, index terms)
    T* pair_factors = nullptr;   // (query factors, rows, features), for pairwise terms
    bool factorable = true;      // no exponential of a query left its range
    void* states = nullptr;      // (rows), what a normalizer carries
    T* sums = nullptr;           // (rows, value_width)
};

/// Scores of a tile and a block of keys, from some column of each row on.
template <class T>
struct score_block {
    T* scores;  // (planes, rows, stride); plane 0 is the result
    index_t stride, plane_stride;
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
struct key_lanes_functions {
    using rows = key_lanes_rows<T, Arch>;
    using keys = packed_keys<T, Arch>;
    using key_run = driver::key_run<plan::key_lanes_blocking<T, Arch>>;

    index_t products, pairs;                        // of each pair
    index_t query_factors, row_terms, row_indices;  // of each row
    index_t planes, key_terms, key_indices;         // of each key
    bool terms_per_head;                            // of a key: one for each query head of the group
    index_t state_bytes;                            // of a row
    index_t keys_per_row;                           // of packed values
    bool loads_rows;                                // keys or values do not lie in memory as numbers
    bool selects, is_linear, is_bare_product, clears_excluded;
    T start;  // of a sum

    /// Query factors, terms of rows and states, at the beginning of a tile.
    void (*begin)(dense_rows const&, rows&, bool in_place);
    /// Planes and terms of the keys of a block, and its values unless they are read in place.
    void (*pack)(dense_rows const&, keys&, index_t block);
    bool (*all_finite)(dense_rows const&, row_range const& values);
    /// S: the score, and the mask in mixed panels.
    void (*score)(dense_rows const&, rows const&, keys const&, key_run const&, score_block<T> const&);
    /// Scores become weights; `rescale` becomes the factors of the sums so far: (rows).
    void (*fold)(dense_rows const&, rows&, row_scores<T> const&, T* rescale);
    /// Rescales the sums, and adds the values times their weights.
    void (*add)(dense_rows const&, rows&, keys const&, weight_tile<T> const&, T const* rescale);
    /// As add, without the values of excluded pairs: where values are not finite.
    void (*add_visible)(dense_rows const&, rows&, keys const&, weight_tile<T> const&, T const* rescale);
    /// Adds the values whose weight is not 0, where these are few; returns false, and adds nothing, otherwise.
    bool (*add_nonzero)(dense_rows const&, rows&, keys const&, weight_tile<T> const&);
    /// Results of all rows.
    void (*finish)(dense_rows const&, rows&);
    /// Merges what the splits have left of one row, and writes its result.
    void (*merge_splits)(dense_rows const&, kernel::row_facts const&, partial_row<T> const&);
    /// Scores of whole rows become their final weights; outputs that read rows get both.
    void (*normalize)(dense_rows const&, rows&, row_scores<T> const&, bool const* visible);
};

/// A dense call with a key in each lane.
template <class T, class Arch>
struct key_lanes_call : dense_rows {
    index_t key_features;
    key_lanes_functions<T, Arch> const& functions;

    template <class Operands>
    key_lanes_call(plan::call_plan const& how_run, Operands const& all, coverage_function of_mask,
                   key_lanes_functions<T, Arch> const& table)
        : dense_rows(how_run, all, of_mask), key_features(all.key_features()), functions(table) {}

    /// Elements of a row of sums.
    index_t value_width() const { return round_up(std::max<index_t>(value_features, 1), kernel::pack<T, Arch>::lanes); }
};

}  // namespace fovea::FOVEA_SET::driver
