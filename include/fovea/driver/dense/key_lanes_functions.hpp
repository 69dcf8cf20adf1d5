// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the engine knows of the scores of a specification with keys in lanes: their sizes, and the functions that are
// compiled for them, each for a block at a time.
#pragma once

#include <fovea/driver/dense/dense_rows.hpp>
#include <fovea/driver/dense/next_lines.hpp>
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
};

/// Scores of a tile and a block of keys, from some column of each row on.
template <class T>
struct score_block {
    T* scores;  // (planes, rows, stride); plane 0 is the result
    index_t stride, plane_stride;
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
    bool loads_keys;                                // keys do not lie in memory as numbers
    bool is_bare_product;                           // nothing is computed of a product

    /// Query factors and terms of rows, at the beginning of a tile.
    void (*begin)(dense_rows const&, rows&, bool in_place);
    /// Planes and terms of the keys of a block.
    void (*pack)(dense_rows const&, keys&, index_t block);
    /// S: the score, and the mask in mixed panels.
    void (*score)(dense_rows const&, rows const&, keys const&, key_run const&, score_block<T> const&, next_lines&);
};

/// The scores of a dense call with a key in each lane.
template <class T, class Arch>
struct key_lanes_call : dense_rows {
    index_t key_features;
    key_lanes_functions<T, Arch> const& functions;

    template <class Operands>
    key_lanes_call(plan::call_plan const& how_run, Operands const& all, coverage_function of_mask,
                   key_lanes_functions<T, Arch> const& table)
        : dense_rows(how_run, all, of_mask), key_features(all.key_features()), functions(table) {}

    /// The features that a part of the score runs over.
    template <class Part>
    feature_span span_of(Part const& part) const {
        return part.over.of(features, key_features);
    }
};

}  // namespace fovea::FOVEA_SET::driver
