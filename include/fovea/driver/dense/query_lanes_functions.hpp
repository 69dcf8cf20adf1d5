// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the engine knows of a specification with queries in lanes: its sizes, and the functions that are compiled for
// its scores, and for what is made of them, each for a block at a time.
#pragma once

#include <fovea/driver/dense/dense_rows.hpp>
#include <fovea/driver/dense/number_rows.hpp>
#include <fovea/driver/products.hpp>

namespace fovea::FOVEA_SET::driver {

/// The queries of a tile, one in each lane: adjacent queries of one head, or interleaved ones of heads that share
/// keys.
template <class T, class Arch>
struct query_lanes_rows {
    using shape = plan::query_lanes_blocking<T, Arch>;
    using integer = kernel::integer_like<T>;

    head_group heads{};
    index_t first_row = 0, count = 0, vectors = 0;
    T* queries = nullptr;                                    // (features, width)
    T* terms = nullptr;                                      // (row terms, width)
    integer* indices = nullptr;                              // (index terms, width)
    integer queries_of[shape::rows], heads_of[shape::rows];  // where heads are interleaved

    index_t width() const { return vectors * shape::lanes; }

    /// The indices of row r of the tile; rows after the last repeat it.
    kernel::row_facts facts_of(dense_rows const& call, index_t r) const {
        return call.facts(heads, first_row + std::min(r, count - 1));
    }

    /// The rows of a view, the first of this tile being row 0.
    template <class Element>
    strided_rows<Element> strided(dense_rows const& call, view<Element, 4> const& rows) const {
        return {.first = rows.place(heads.batch, heads.index * call.tile_heads, 0, 0),
                .position_stride = rows.stride(2),
                .head_stride = rows.stride(1),
                .heads = call.tile_heads,
                .offset = first_row};
    }
};

/// Adjacent keys, and their scores, later weights, with the queries of a tile.
template <class T>
struct query_lanes_block {
    index_t first, count;        // keys
    T* scores;                   // (keys, width)
    T const* key_terms;          // (terms, block_keys)
    index_t const* key_indices;  // (index terms, block_keys)
    T* row_max;                  // (width)
};

template <class T, class Arch>
struct query_lanes_functions {
    using lanes = query_lanes_rows<T, Arch>;

    index_t row_terms, row_indices;  // of each query
    index_t key_terms, key_indices;  // of each key
    bool is_bare_product;            // nothing is computed of a product

    /// Queries and their terms, at the beginning of a tile.
    void (*begin)(dense_rows const&, lanes&);
    /// Keys converted to T, or gathered; null where they are always read in place.
    convert_function<T> convert_keys;
    /// The terms of the keys of a block: (terms, block_keys), (index terms, block_keys).
    void (*prepare_keys)(dense_rows const&, kernel::row_facts const&, row_range const&, T* terms, index_t* indices);
    /// Products become scores, the mask applied if `masked`; row_max is raised to the maximum of each row.
    void (*score)(dense_rows const&, lanes const&, query_lanes_block<T> const&, bool masked);
};

template <class T, class Arch>
struct query_lanes_sums_functions {
    using lanes = query_lanes_rows<T, Arch>;

    index_t state_bytes;  // of a vector of rows, what a normalizer carries

    /// States, at the beginning of a tile.
    void (*begin)(lanes const&, void* states);
    /// Values converted to T, or gathered; null where they are always read in place.
    convert_function<T> convert_values;
    bool (*all_finite)(dense_rows const&, row_range const& values);
    /// Scores become weights; `rescale` becomes the factors of the sums so far: (width).
    void (*fold)(dense_rows const&, lanes const&, void* states, query_lanes_block<T> const&, T* rescale);
    /// Results of all rows, of their sums: (value features, width).
    void (*finish)(dense_rows const&, lanes const&, void const* states, T const* sums);
};

/// The scores of a dense call with a query in each lane.
template <class T, class Arch>
struct query_lanes_call : dense_rows {
    query_lanes_functions<T, Arch> const& functions;

    template <class Operands>
    query_lanes_call(plan::call_plan const& plan, Operands const& all, coverage_function of_mask,
                     query_lanes_functions<T, Arch> const& table)
        : dense_rows(plan, all, of_mask), functions(table) {}
};

/// A dense call with a query in each lane: its scores, and what is made of them.
template <class T, class Arch>
struct query_lanes_attention : query_lanes_call<T, Arch> {
    query_lanes_sums_functions<T, Arch> const& sums;

    template <class Operands>
    query_lanes_attention(plan::call_plan const& plan, Operands const& all, dense_rows::coverage_function of_mask,
                          query_lanes_functions<T, Arch> const& of_scores,
                          query_lanes_sums_functions<T, Arch> const& of_sums)
        : query_lanes_call<T, Arch>(plan, all, of_mask, of_scores), sums(of_sums) {}
};

}  // namespace fovea::FOVEA_SET::driver
