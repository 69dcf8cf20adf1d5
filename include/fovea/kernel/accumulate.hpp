// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The product P V with a feature of the value in each lane, and other aggregators in its place.
#pragma once

#include <fovea/kernel/outer_product.hpp>
#include <fovea/kernel/prefetch.hpp>
#include <fovea/simd/bf16_pairs.hpp>
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
inline constexpr bool is_sum = std::is_same_v<Aggregate, number_products>
                            || std::is_same_v<Aggregate, bf16_pair_products> || linear_aggregator<Aggregate>;

/// Weights of some rows, values, and the sums that these are added to. Nothing overlaps.
template <class T, class Value>
struct weighted_values {
    T const* weights;  // (rows, keys), or (rows, bf16 pairs of keys)
    index_t weight_stride, keys;
    Value const* values;  // (keys, width)
    index_t value_stride;
    T* sums;  // (rows, width)
    index_t sum_stride;
    T const* rescale;  // (rows)
};

/// accumulate: values multiplied by the weights of a tile of queries and added up, in registers.
///
///     sums[r][c] = sums[r][c] * rescale[r] + sum_k weights[r][k] * values[k][c]
///
/// Values may be of another type than T. Lines are prefetched as contract does; with few rows, where the speed is that
/// of reading values from memory, the values that follow.
template <int Rows, int Vectors, class T, class Arch, class Lines = no_prefetch, class Aggregate, class Value>
[[gnu::noinline]] void accumulate(Aggregate const& aggregate, weighted_values<T, Value> const& w,
                                  [[maybe_unused]] Lines lines = {}) {
    register_tile<Rows, Vectors, T, Arch> tile;
    if constexpr (!is_sum<Aggregate>) tile.load_scaled_by_row(w.sums, w.sum_stride, w.rescale);
    auto const add = [&](auto const& sum, auto const& weight, auto const& value)
                         FOVEA_LAMBDA { return aggregate_step(aggregate, sum, weight, value); };
    broadcast_operand<T, index_t, unit_stride> const rows{w.weights, w.weight_stride, {}};
    vector_operand<Value> const all{w.values, w.value_stride};
    if constexpr (Rows <= Vectors) {
        constexpr auto bytes = static_cast<index_t>(sizeof(Value));
        constexpr index_t width = Vectors * pack<T, Arch>::lanes;
        prefetch_distance const distance(width * bytes, w.value_stride * bytes);
        tile.add_products(add, rows, all, w.keys,
                          [&](Value const* row) FOVEA_LAMBDA { distance.prefetch<width>(row); });
    } else {
        tile.add_products_and_prefetch(add, rows, all, w.keys, lines);
    }
    if constexpr (is_sum<Aggregate>) tile.add_scaled_by_row(w.sums, w.sum_stride, w.rescale);
    tile.store(w.sums, w.sum_stride);
}

/// accumulate_bf16_pairs: weighted sums of bfloat16 values that are read as stored, with weights as bf16 pairs of two
/// keys. Rows of two keys are interleaved in registers, which register_tile does not do.
template <int Rows, int Vectors, class Arch>
[[gnu::noinline]] void accumulate_bf16_pairs(weighted_values<float, bfloat16> const& all) {
    auto const [weights, weight_stride, keys, values, value_stride, sums, sum_stride, rescale] = all;
    using vector = pack<float, Arch>;
    using arithmetic = bf16_pairs<Arch>;
    static_assert(Vectors % 2 == 0);
    prefetch_distance const distance(Vectors * vector::lanes * 2, value_stride * 2);
    c_array_2d<vector, Rows, Vectors> sum;  // all in registers
    unrolled<Rows>([&](auto r)
                       FOVEA_LAMBDA { unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v] = vector(0.0f); }); });
    auto const add = [&](index_t pair, auto both) FOVEA_LAMBDA {
        bfloat16 const* const low = values + 2 * pair * value_stride;
        bfloat16 const* const high = low + value_stride;
        distance.prefetch<Vectors * vector::lanes>(low);
        if constexpr (both) distance.prefetch<Vectors * vector::lanes>(high);
        c_array_2d<vector, 2, Vectors / 2> row;
        c_array<vector, Vectors> value;  // one row is read before the other, in the order of memory
        unrolled<Vectors / 2>([&](auto v)
                                  FOVEA_LAMBDA { row[0][v] = opaque(arithmetic::load(low + 2 * v * vector::lanes)); });
        unrolled<Vectors / 2>([&](auto v) FOVEA_LAMBDA {
            row[1][v] = both ? opaque(arithmetic::load(high + 2 * v * vector::lanes)) : vector(0.0f);
        });
        unrolled<Vectors / 2>([&](auto v) FOVEA_LAMBDA {
            vector pairs[2];
            arithmetic::interleaved(row[0][v], row[1][v], pairs);
            value[2 * v] = opaque(pairs[0]);
            value[2 * v + 1] = opaque(pairs[1]);
        });
        unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
            vector const weight(weights[r * weight_stride + pair]);
            unrolled<Vectors>([&](auto v)
                                  FOVEA_LAMBDA { sum[r][v] = arithmetic::add_products(weight, value[v], sum[r][v]); });
        });
    };
    for (index_t pair = 0; pair < keys / 2; ++pair) add(pair, std::true_type{});
    if (keys % 2 != 0) add(keys / 2, std::false_type{});
    unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
            float* const to = sums + r * sum_stride + v * vector::lanes;
            fma(vector(rescale[r]), vector::load(to), sum[r][v]).store(to);
        });
    });
}

}  // namespace fovea::FOVEA_SET::kernel
