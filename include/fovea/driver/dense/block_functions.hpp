// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Interface between the engine and a specification: its sizes, and tables of functions that are compiled for it, each
// for a block at a time. `Blocking`, here and beside, is a blocking of plan/blocking.hpp: which operand lies in lanes.
#pragma once

#include <fovea/driver/call/row_runs.hpp>
#include <fovea/driver/dense/dense_rows.hpp>

#include <algorithm>
#include <array>
#include <type_traits>

namespace fovea::FOVEA_SET::driver {

template <class Blocking>
class head_keys;
template <class Blocking>
class head_values;
template <class Blocking>
class sub_tiles;

/// The lines that a dense loop prefetches beside its products: those of the keys of the next block, then of its values,
/// and, where there is no next block to be read, those of tables that the scores read.
struct next_lines {
    kernel::prefetch_queue keys{}, values{}, tables{};

    kernel::prefetch_queue& queue() { return !keys.empty() ? keys : !values.empty() ? values : tables; }
};

/// The rows of a tile: adjacent queries of one head, or interleaved ones of heads that share keys, so that keys are
/// read once for all of them.
template <class Blocking>
struct tile_rows {
    using T = typename Blocking::number;
    using integer = kernel::integer_like<T>;
    using index = std::conditional_t<Blocking::queries_in_lanes, integer, index_t>;
    static constexpr std::size_t lane_rows = Blocking::queries_in_lanes ? Blocking::rows : 0;

    head_group heads{};
    index_t first = 0, count = 0;
    index_t width = Blocking::rows;  // rows that are computed; those after the last repeat it
    T* queries = nullptr;            // (products, features, width); for keys in place (products, packs, width, lanes);
                                     // then (squares + tables, features, width)
    T* scales = nullptr;             // (products, rows)
    T* terms = nullptr;              // (row terms, rows)
    index* indices = nullptr;        // (index terms, rows)
    T* pair_factors = nullptr;       // (query factors, rows, features), for pairwise terms
    T* norms = nullptr;              // (squares, rows)
    T* centre = nullptr;             // (3, features), of one squared distance after the other
    bool factorable = true;          // no exponential of a query left its range
    std::array<kernel::row_coordinates, std::size_t{Blocking::rows} - lane_rows> coordinates;  // with keys in lanes
    std::array<integer, lane_rows> queries_of, heads_of;  // with queries in lanes, where heads are interleaved

    /// The indices of row r.
    decltype(auto) facts_of(dense_rows const& call, index_t r) const {
        if constexpr (Blocking::queries_in_lanes) return call.coordinates(heads, first + std::min(r, count - 1));
        else return (coordinates[static_cast<std::size_t>(r)]);
    }
    /// The box of some of the rows, for interval readings; all keys.
    box span(dense_rows const& call, index_t from, index_t to) const {
        return call.span(heads, first + from, first + std::min(to, count));
    }

    /// The rows of a view, the first of this tile being row 0.
    template <class Element>
    strided_rows<Element> strided(dense_rows const& call, view<Element, 4> const& rows) const {
        return {.first = rows.place(heads.batch, heads.index * call.tile_heads, 0, 0),
                .position_stride = rows.stride(2),
                .head_stride = rows.stride(1),
                .heads = call.tile_heads,
                .offset = first};
    }
};

/// Scores, and then weights, of the rows of a tile and some adjacent keys of a block.
template <class Blocking>
struct score_block {
    using T = typename Blocking::number;
    index_t first, count;  // keys, the first by its position
    T* scores;             // (planes, rows, stride), the result is plane 0; with queries in lanes (keys, stride)
    index_t stride, plane_stride = 0;
    bool* visible = nullptr;                      // like a plane: which pairs take part, where values are not finite
    T* row_max = nullptr;                         // (width), with queries in lanes
    sub_tiles<Blocking> const* pieces = nullptr;  // with queries in lanes: those that are not empty

    index_t packs() const { return ceil_div(count, Blocking::lanes); }
    /// Some of the keys.
    score_block part(index_t offset, index_t length) const {
        index_t const at = Blocking::queries_in_lanes ? offset * stride : offset;
        auto some = *this;
        some.first += offset;
        some.count = std::min(length, count - offset);
        some.scores += at;
        some.visible += at;
        return some;
    }
    /// The keys of some granules of their block.
    score_block part_of(granule_run<Blocking> const& granules) const {
        return part(granules.first * Blocking::granule - first % Blocking::block_keys,
                    (granules.last - granules.first) * Blocking::granule);
    }
};

/// The online-softmax state (m, l, O) of the rows of a tile between runs of keys.
template <class T>
struct online_state {
    void* states = nullptr;  // (states), what a normalizer carries
    T* sums = nullptr;       // (rows, value_width), or (value features, width) with queries in lanes
    bool empty = true;       // nothing has been added to the sums, nor have they been cleared
};

/// The unfinished sums and states of one row over each split of the keys, from the first split on.
template <class T>
struct partial_row {
    T* sums;       // (splits, sum_stride), of which `width` are one row's
    char* states;  // (splits, state_stride)
    index_t splits, sum_stride, state_stride, width;
    bool ends = true;  // no keys follow
};

template <class Blocking>
struct score_call;
template <class Blocking>
struct attention_call;

/// The functions of a score and a mask.
template <class Blocking>
struct score_functions {
    using call = score_call<Blocking>;
    using rows = tile_rows<Blocking>;
    using keys = head_keys<Blocking>;
    using scores = score_block<Blocking>;

    index_t products, pairs;                        // of each pair
    index_t squares, tables, key_tables;            // of which some are squares, or products of tables with one side
    index_t query_factors, row_terms, row_indices;  // of each row
    index_t planes, key_terms, key_indices;         // of each key
    bool terms_per_head;                            // of a key: one for each query head of the group
    bool loads_keys;                                // keys do not lie in memory as numbers
    bool is_bare_product;                           // nothing is computed of a product

    /// Queries, their factors and terms, at the beginning of a tile.
    void (*begin)(call const&, rows&);
    /// The keys of a block as the plan has them, and their terms.
    void (*prepare)(call const&, keys const&, index_t block);
    /// Products of queries and keys, and pairwise terms.
    void (*multiply)(call const&, rows const&, keys const&, key_run<Blocking> const&, scores const&, next_lines&);
    /// They become scores; the mask is applied if `masked`.
    void (*transform)(call const&, rows const&, keys const&, scores const&, bool masked);

    // With queries in lanes alone:
    index_t query_planes = 1;  // whose sum a query is, for products that take several
};

/// The functions of a normalizer and an aggregator.
template <class Blocking>
struct sums_functions {
    using T = typename Blocking::number;
    using call = attention_call<Blocking>;
    using rows = tile_rows<Blocking>;
    using values = head_values<Blocking>;
    using scores = score_block<Blocking>;

    index_t state_bytes;       // of a row, or of a vector of rows
    index_t keys_per_row = 1;  // of copied values
    bool loads_values;         // values do not lie in memory as numbers
    bool selects = false, is_linear = true, clears_excluded = false;

    /// Sums and states, at the beginning of a tile.
    void (*begin)(call const&, online_state<T>&);
    /// The values of a block, unless they are read in place.
    void (*copy)(call const&, values const&, index_t block);
    bool (*all_finite)(call const&, row_range const& values);
    /// Scores become weights; `rescale` becomes the factors of the sums so far: (rows).
    void (*fold)(call const&, rows const&, online_state<T> const&, scores const&, T* rescale);
    /// Rescales the sums, and adds the values times their weights.
    void (*add)(call const&, rows const&, online_state<T>&, values const&, scores const&, T* rescale, next_lines&);
    /// As add, without the values of excluded pairs: where values are not finite.
    void (*add_visible)(call const&, rows const&, online_state<T>&, values const&, scores const&, T const* rescale);
    /// Results of all rows.
    void (*finish)(call const&, rows const&, online_state<T>&);

    // With keys in lanes alone:
    /// Adds the values whose weight is not 0, where these are few; returns false, and adds nothing, otherwise.
    bool (*add_nonzero)(call const&, rows const&, online_state<T>&, values const&, scores const&) = nullptr;
    /// Merges what the splits have left of one row into the first of them; its result, where no keys follow.
    void (*merge_splits)(call const&, kernel::row_coordinates const&, partial_row<T> const&) = nullptr;
    /// Scores of whole rows become their final weights; outputs that read rows get both.
    void (*normalize)(call const&, rows const&, online_state<T> const&, scores const&) = nullptr;
};

/// The scores of a dense call.
template <class Blocking>
struct score_call : dense_rows {
    index_t key_features;
    score_functions<Blocking> const& functions;

    template <class Operands>
    score_call(plan::call_plan const& plan, Operands const& operands, coverage_function of_mask,
               score_functions<Blocking> const& of_scores)
        : dense_rows(plan, operands, of_mask), key_features(operands.key_features()), functions(of_scores) {}

    /// The features that a part of the score runs over.
    template <class Part>
    feature_span span_of(Part const& part) const {
        return part.over.of(features, key_features);
    }
};

/// A dense call: its scores, and what is made of them.
template <class Blocking>
struct attention_call : score_call<Blocking> {
    sums_functions<Blocking> const& sums;

    template <class Operands>
    attention_call(plan::call_plan const& plan, Operands const& operands, dense_rows::coverage_function of_mask,
                   score_functions<Blocking> const& of_scores, sums_functions<Blocking> const& of_sums)
        : score_call<Blocking>(plan, operands, of_mask, of_scores), sums(of_sums) {}

    /// Elements of a value, and of a row of sums, in whole vectors.
    index_t value_width() const { return round_up(std::max<index_t>(this->value_features, 1), Blocking::lanes); }
};

}  // namespace fovea::FOVEA_SET::driver
