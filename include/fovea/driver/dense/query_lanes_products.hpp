// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two products with a query in each lane, which know no specification: S of keys in place, and P V.
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/head_rows.hpp>
#include <fovea/driver/dense/vector_pieces.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The products of an arrangement with a query in each lane.
template <class Shape>
struct lane_products_of_shape {
    using type =
        kernel::matrix_unit_product<typename Shape::number, typename Shape::architecture, typename Shape::parts>;
};
template <class T, class Arch>
struct lane_products_of_shape<plan::query_lanes_blocking<T, Arch>> {
    using type = products<T, Arch>;
};
template <class Shape>
using lane_products_of = typename lane_products_of_shape<Shape>::type;

/// Functions for the tables of all specifications. Nothing is summed across lanes, and values are not packed: results
/// are transposed after the last key.
template <class Shape>
struct query_lanes_products {
    using shape = Shape;
    using T = typename Shape::number;
    using product = lane_products_of<Shape>;
    using rows_type = tile_rows<shape>;
    using keys_type = head_keys<shape>;
    using values_type = head_values<shape>;
    using scores = score_block<shape>;
    using call = score_call<shape>;
    using attention = attention_call<shape>;

    /// Products of queries and keys; the maximum of each row where they are the scores.
    static void multiply(call const&, rows_type const&, keys_type const&, key_run<shape> const&, scores const&,
                         next_lines&);
    /// O = O * rescale + P V
    static void add(attention const&, rows_type const&, row_sums<T>&, values_type const&, scores const&, T* rescale,
                    next_lines&);
    /// O = O * rescale + P V where a value is not finite: no weight 0 of an excluded pair may be multiplied by it.
    [[gnu::cold]] static void add_visible(attention const&, rows_type const&, row_sums<T>&, values_type const&,
                                          scores const&, T const* rescale);
    static void clear_if_empty(row_sums<T>& sums, index_t count) {
        if (sums.empty) std::fill_n(sums.sums, count, T{0});
        sums.empty = false;
    }

    /// The keys of a piece of a tile.
    static scores piece_of(scores const& all, key_run<shape> const& at, granule_run<shape> const& granules) {
        return all.part((granules.first - at.granules.first) * shape::granule,
                        (granules.last - granules.first) * shape::granule);
    }

    /// Keys of a piece from one on, as many as lie together, and where their products with its vectors go.
    struct operands {
        kernel::key_operand<typename shape::element> keys;
        kernel::lane_sums<T> sums;
    };
    static operands operands_at(call const&, rows_type const&, keys_type const&, scores const& piece, vector_run const&,
                                index_t key, bool are_scores);

private:
    static T value_at(values_type const& values, index_t key, index_t feature) {
        if constexpr (product::packs_values) {
            index_t const block = key / shape::block_keys;
            return product::value_at(values.copies(block), values.stride(), key - values.first(block), feature);
        } else {
            return values(key, 1).first[feature];
        }
    }

    /// Products over no features: 0 times the scale, which may be infinite, as the expression says. They are computed
    /// in place of the queries.
    [[gnu::cold]] static void multiply_no_features(rows_type const& rows, scores const& to, bool are_scores) {
        for (index_t lane = 0; lane < rows.width; ++lane) {
            T const product = rows.queries[lane];
            for (index_t k = 0; k < to.count; ++k) to.scores[k * to.stride + lane] = product;
            if (are_scores) to.row_max[lane] = product;
        }
    }
};

template <class Shape>
auto query_lanes_products<Shape>::operands_at(call const& of, rows_type const& rows, keys_type const& keys,
                                              scores const& piece, vector_run const& vectors, index_t key,
                                              bool are_scores) -> operands {
    auto const run = keys(piece.first + key, piece.count - key);
    auto const [first_feature, features] = of.summed.product;
    index_t const lane = vectors.first * shape::lanes;
    return {{run.first + first_feature, run.stride, {}},
            {vectors.last - vectors.first, run.count, features, rows.queries + lane,
             piece.scores + key * piece.stride + lane, piece.stride, nullptr,
             are_scores ? piece.row_max + lane : nullptr, rows.scales + lane, of.functions.query_planes}};
}

template <class Shape>
void query_lanes_products<Shape>::multiply(call const& of, rows_type const& rows, keys_type const& keys,
                                           key_run<shape> const& at, scores const& to, next_lines& next) {
    bool const are_scores = to.row_max != nullptr && of.functions.is_bare_product && !any_mixed(at);
    if (of.summed.product.count == 0) return multiply_no_features(rows, to, are_scores);
    index_t multiplied = to.multiplied;
    for (auto const& [vectors, granules] : *to.pieces) {
        auto const piece = piece_of(to, at, granules);
        for (index_t k = 0; k < piece.count;) {
            auto const some = operands_at(of, rows, keys, piece, vectors, k, are_scores);
            index_t const count = some.sums.element_count, ready = std::min(multiplied, count);
            if constexpr (plan::pipelined<shape>)
                product::contract_query_lanes(some.keys, some.sums, next.keys.queue(), ready);
            else product::contract_query_lanes(some.keys, some.sums, next.keys.queue());
            multiplied -= ready;
            k += count;
        }
    }
}

template <class Shape>
void query_lanes_products<Shape>::add(attention const& of, rows_type const& rows, row_sums<T>& sums,
                                      values_type const& values, scores const& weights, T* rescale, next_lines& next) {
    index_t const width = rows.width;
    for (auto const& [vectors, granules] : *weights.pieces) {
        bool const first_of_all = sums.empty && (vectors.last - vectors.first) * shape::lanes == width;
        if (first_of_all) sums.empty = false;
        else clear_if_empty(sums, of.value_width() * width);
        auto const piece = weights.part_of(granules);
        index_t const lane = vectors.first * shape::lanes;
        for (index_t k = 0; k < piece.count;) {
            auto const run = values(piece.first + k, piece.count - k);
            product::accumulate_query_lanes(
                {run.first, {}, run.stride},
                {vectors.last - vectors.first, of.value_features, run.count, piece.scores + k * width + lane,
                 sums.sums + lane, width, first_of_all && k == 0 ? nullptr : rescale + lane, nullptr},
                next.values.queue());
            k += run.count;
            if (weights.pieces->size() > 1 || k < piece.count)  // what follows adds to the same sums
                std::fill(rescale + lane, rescale + vectors.last * shape::lanes, T{1});
        }
    }
}

template <class Shape>
void query_lanes_products<Shape>::add_visible(attention const& of, rows_type const& rows, row_sums<T>& sums,
                                              values_type const& values, scores const& weights, T const* rescale) {
    index_t const width = rows.width;
    clear_if_empty(sums, of.value_width() * width);
    for (index_t c = 0; c < of.value_features; ++c)
        for (index_t q = 0; q < width; ++q) {
            T& sum = sums.sums[c * width + q];
            sum *= rescale[q];
            for (index_t k = 0, pair = q; k < weights.count; ++k, pair += width)
                if (weights.visible[pair]) sum += weights.scores[pair] * value_at(values, weights.first + k, c);
        }
}

}  // namespace fovea::FOVEA_SET::driver
