// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The product P V with a key in each lane: sums of values weighted by rows of weights, all of them or those that are
// not 0.
#pragma once

#include <fovea/kernel/product/outer_product.hpp>
#include <fovea/simd/simd.hpp>
#include <fovea/spec/concepts.hpp>

namespace fovea::FOVEA_SET::kernel {

/// One step of an aggregator; weighted sums become fused multiply-adds.
template <class Aggregate, class V>
FOVEA_INLINE V aggregate_step(Aggregate const& aggregate, V const& sum, V const& weight, V const& value) {
    if constexpr (requires { aggregate(sum, weight, value); }) return aggregate(sum, weight, value);
    else if constexpr (requires { requires Aggregate::linear; }) return fma(weight, value, sum);
    else return aggregate.step(sum, weight, value);
}

/// True where the aggregate is a sum: then the earlier sum, rescaled, can be added last.
template <class Aggregate>
inline constexpr bool is_sum = step_of_products<Aggregate> || linear_aggregator<Aggregate>;

/// The weights of a tile of rows, one row after the other.
template <class T>
using row_weights = broadcast_operand<T, index_t, unit_stride>;
/// The same weights for sums of keys over its rows: P^T of P.
template <class T>
using transposed_weights = broadcast_operand<T, unit_stride, index_t>;

/// Weights of some rows, values, and the sums that these are added to. Nothing overlaps.
template <class T, class Values, class Weights = row_weights<T>>
struct weighted_values {
    Weights weights;  // (rows, keys), or (rows, groups of as many keys as a step takes)
    index_t keys;
    Values values;  // (keys, width)
    T* sums;        // (rows, width)
    index_t sum_stride;
    T const* rescale;  // (rows)
};

/// accumulate: values multiplied by the weights of a tile of queries and added up, in registers.
///
///     sums[r][c] = sums[r][c] * rescale[r] + sum_k weights[r][k] * values[k][c]
///
/// Values may be of another type than T. Lines of `next` are prefetched meanwhile; with few rows, where the speed is
/// that of reading values from memory, the values that follow.
template <int Rows, int Vectors, class T, class Arch, class Aggregate, class Values, class Weights>
[[gnu::noinline]] void accumulate(Aggregate const& aggregate, weighted_values<T, Values, Weights> const& w,
                                  [[maybe_unused]] prefetch_queue& next) {
    register_tile<Rows, Vectors, T, Arch> tile;
    if constexpr (!is_sum<Aggregate>) tile.load_scaled_by_row(w.sums, w.sum_stride, w.rescale);
    auto const add = [&](auto const& sum, auto const& weight, auto const& value)
                         FOVEA_LAMBDA { return aggregate_step(aggregate, sum, weight, value); };
    if constexpr (Rows <= Vectors) {
        constexpr index_t width = Vectors * pack<T, Arch>::lanes;
        tile.add_products(add, w.weights, w.values, w.keys,
                          [](Values const& left) FOVEA_LAMBDA { prefetch_features<width>(left, left.after(0), 0, 0); });
    } else {
        tile.add_products_and_prefetch(add, w.weights, w.values, w.keys, next);
    }
    if constexpr (is_sum<Aggregate>) tile.add_scaled_by_row(w.sums, w.sum_stride, w.rescale);
    tile.store(w.sums, w.sum_stride);
}

/// True where a weight of a pack is not 0.
template <class T, class Arch>
FOVEA_INLINE bool any_nonzero(T const* weights) {
    auto const w = pack<T, Arch>::load(weights);
    return (!(w == pack<T, Arch>(T{0}))).any();
}

/// The number of packs of a row of weights in which one is not 0; the row is padded to whole packs.
template <class T, class Arch>
FOVEA_INLINE index_t nonzero_packs(T const* weights, index_t keys) {
    using vector = pack<T, Arch>;
    index_t packs = 0;
    for (index_t k = 0; k < keys; k += vector::lanes) packs += any_nonzero<T, Arch>(weights + k);
    return packs;
}

/// True where most packs of some rows of weights are zeros, as sparse normalizers leave them.
template <class T, class Arch>
bool mostly_zero(T const* weights, index_t stride, index_t rows, index_t keys) {
    index_t packs = 0;
    for (index_t r = 0; r < rows; ++r) packs += nonzero_packs<T, Arch>(weights + r * stride, keys);
    return 2 * packs * pack<T, Arch>::lanes <= rows * keys;
}

/// accumulate_nonzero: adds values with a sparse row of weights; values of weight 0 are not read.
///
///     sums[c] = sums[c] + sum_k weights[k] * values[k][c],   k with weights[k] != 0
template <class T, class Arch, class Aggregate, class Values>
[[gnu::noinline]] void accumulate_nonzero(Aggregate const& aggregate,
                                          T const* weights,  // (keys), padded to whole packs
                                          index_t keys,
                                          Values const& values,    // (keys, width)
                                          T* FOVEA_RESTRICT sums,  // (width)
                                          index_t width) {
    using vector = pack<T, Arch>;
    for (index_t k = 0; k < keys; k += vector::lanes) {
        if (!any_nonzero<T, Arch>(weights + k)) continue;
        for (index_t i = k; i < std::min(k + vector::lanes, keys); ++i) {
            if (weights[i] == T{0}) continue;
            auto const value = values.row(i);
            for (index_t c = 0; c < width; c += vector::lanes)
                aggregate_step(aggregate, vector::load(sums + c), vector(weights[i]),
                               features_of<T, Arch>(values, value, c, width - c))
                    .store(sums + c);
        }
    }
}

}  // namespace fovea::FOVEA_SET::kernel
