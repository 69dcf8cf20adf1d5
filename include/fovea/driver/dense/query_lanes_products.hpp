// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two products with a query in each lane, which know no specification: S of keys in place, and P V.
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/block_cache.hpp>
#include <fovea/driver/dense/sub_tiles.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The products of a blocking with a query in each lane.
template <class Blocking>
struct lane_products_of_blocking {
    using type = kernel::matrix_unit_product<typename Blocking::number, typename Blocking::architecture,
                                             typename Blocking::parts>;
};
template <class T, class Arch>
struct lane_products_of_blocking<plan::query_lanes_blocking<T, Arch>> {
    using type = products<T, Arch>;
};
template <class T, class Arch>
struct lane_products_of_blocking<plan::query_lanes_gradient_blocking<T, Arch>> {
    using type = products<T, Arch>;
};
template <class Blocking>
using lane_products_of = typename lane_products_of_blocking<Blocking>::type;

/// Functions for the tables of all specifications. Nothing is summed across lanes, and values are not packed: results
/// are transposed after the last key.
template <class Blocking>
struct query_lanes_products {
    using blocking = Blocking;
    using T = typename Blocking::number;
    using product = lane_products_of<Blocking>;
    using rows_type = tile_rows<blocking>;
    using keys_type = head_keys<blocking>;
    using values_type = head_values<blocking>;
    using scores = score_block<blocking>;
    using call = score_call<blocking>;
    using attention = attention_call<blocking>;

    /// Products of queries and keys; the maximum of each row where they are the scores.
    static void multiply(call const&, rows_type const&, keys_type const&, key_run<blocking> const&, scores const&,
                         next_lines&);
    /// O = O * rescale + P V
    static void add(attention const&, rows_type const&, online_state<T>&, values_type const&, scores const&, T* rescale,
                    next_lines&);
    /// O = O * rescale + P V where a value is not finite: no weight 0 of an excluded pair may be multiplied by it.
    [[gnu::cold]] static void add_visible(attention const&, rows_type const&, online_state<T>&, values_type const&,
                                          scores const&, T const* rescale);
    static void clear_if_empty(online_state<T>& sums, index_t count) {
        if (sums.empty) std::fill_n(sums.sums, count, T{0});
        sums.empty = false;
    }

    /// Keys of a piece from one on, as many as lie together, and where their products with its vectors go.
    struct operands {
        kernel::key_operand<typename blocking::element> keys;
        kernel::lane_sums<T> sums;
    };
    static operands operands_at(call const&, rows_type const&, keys_type const&, scores const& piece, vector_run const&,
                                index_t key, bool are_scores);

private:
    static T value_at(values_type const& values, index_t key, index_t feature) {
        if constexpr (product::packs_values) {
            index_t const block = key / blocking::block_keys;
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

template <class Blocking>
auto query_lanes_products<Blocking>::operands_at(call const& of, rows_type const& rows, keys_type const& keys,
                                                 scores const& piece, vector_run const& vectors, index_t key,
                                                 bool are_scores) -> operands {
    auto const run = keys(piece.first + key, piece.count - key);
    auto const [first_feature, features] = of.summed.product;
    index_t const lane = vectors.first * blocking::lanes;
    return {{run.first + first_feature, run.stride, {}},
            {vectors.last - vectors.first, run.count, features, rows.queries + lane,
             piece.scores + key * piece.stride + lane, piece.stride, nullptr,
             are_scores ? piece.row_max + lane : nullptr, rows.scales + lane, of.functions.query_planes}};
}

template <class Blocking>
void query_lanes_products<Blocking>::multiply(call const& of, rows_type const& rows, keys_type const& keys,
                                              key_run<blocking> const& at, scores const& to, next_lines& next) {
    bool const are_scores = to.row_max != nullptr && of.functions.is_bare_product && !any_mixed(at);
    if (of.summed.product.count == 0) return multiply_no_features(rows, to, are_scores);
    for (auto const& [vectors, granules] : *to.pieces) {
        auto const piece = to.part_of(granules);
        for (index_t k = 0; k < piece.count;) {
            auto const some = operands_at(of, rows, keys, piece, vectors, k, are_scores);
            product::contract_query_lanes(some.keys, some.sums, next.keys);
            k += some.sums.element_count;
        }
    }
}

template <class Blocking>
void query_lanes_products<Blocking>::add(attention const& of, rows_type const& rows, online_state<T>& sums,
                                         values_type const& values, scores const& weights, T* rescale,
                                         next_lines& next) {
    index_t const width = rows.width;
    for (auto const& [vectors, granules] : *weights.pieces) {
        bool const first_of_all = sums.empty && (vectors.last - vectors.first) * blocking::lanes == width;
        if (first_of_all) sums.empty = false;
        else clear_if_empty(sums, of.value_width() * width);
        auto const piece = weights.part_of(granules);
        index_t const lane = vectors.first * blocking::lanes;
        for (index_t k = 0; k < piece.count;) {
            auto const run = values(piece.first + k, piece.count - k);
            product::accumulate_query_lanes(
                {run.first, {}, run.stride},
                {vectors.last - vectors.first, of.value_features, run.count, piece.scores + k * width + lane,
                 sums.sums + lane, width, first_of_all && k == 0 ? nullptr : rescale + lane, nullptr},
                next.values);
            k += run.count;
            if (weights.pieces->size() > 1 || k < piece.count)  // what follows adds to the same sums
                std::fill(rescale + lane, rescale + vectors.last * blocking::lanes, T{1});
        }
    }
}

template <class Blocking>
void query_lanes_products<Blocking>::add_visible(attention const& of, rows_type const& rows, online_state<T>& sums,
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
