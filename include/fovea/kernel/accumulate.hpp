// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/kernel/contract.hpp>
#include <fovea/kernel/lanes.hpp>

namespace fovea::kernel {

/// One step of an aggregator; weighted sums become fused multiply-adds.
template <class Aggregate, class V>
FOVEA_INLINE V aggregate_step(Aggregate const& aggregate, V const& sum, V const& weight, V const& value) {
    if constexpr (requires { requires Aggregate::linear; }) return fma(weight, value, sum);
    else return aggregate.step(sum, weight, value);
}

/// accumulate: values met with the weights of a tile of queries, in registers.
///
///     sums[r][c] = sums[r][c] * rescale[r] + sum_k weights[r][k] * values[k][c]
template <int Rows, int Vectors, class T, class Arch, class Aggregate>
[[gnu::noinline]] void accumulate(Aggregate const& aggregate,
                                  T const* FOVEA_RESTRICT weights,  // (Rows, keys)
                                  index_t weight_stride, index_t keys,
                                  T const* FOVEA_RESTRICT values,   // (keys, Vectors * lanes)
                                  index_t value_stride,
                                  T* FOVEA_RESTRICT sums,           // (Rows, Vectors * lanes)
                                  index_t sum_stride,
                                  T const* FOVEA_RESTRICT rescale) {  // (Rows)
    using vector = pack<T, Arch>;
    constexpr index_t ahead = 16;  // keys
    vector sum[Rows][Vectors];  // (Rows, Vectors), all in registers
    unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
        vector const factor(rescale[r]);
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v] = factor * vector::load(sums + r * sum_stride + v * vector::lanes); });
    });
    for (index_t k = 0; k < keys; ++k, values += value_stride) {
        vector value[Vectors];
        if constexpr (Rows < Vectors + Vectors)  // few rows: values come and go as fast as memory gives them
            unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { __builtin_prefetch(values + ahead * value_stride + v * vector::lanes); });
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { value[v] = vector::load(values + v * vector::lanes); });
        unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
            vector const weight(weights[r * weight_stride + k]);
            unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
                sum[r][v] = aggregate_step(aggregate, sum[r][v], weight, value[v]);
            });
        });
    }
    unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v].store(sums + r * sum_stride + v * vector::lanes); });
    });
}

}  // namespace fovea::kernel
