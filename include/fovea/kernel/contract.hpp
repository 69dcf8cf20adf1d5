// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/kernel/pack.hpp>

#include <utility>

namespace fovea::kernel {

/// Calls f(std::integral_constant<int, 0>{}), f(... 1), ...: a loop that is always unrolled.
template <int Count, class F>
FOVEA_INLINE void unrolled(F&& f) {
    [&]<int... I>(std::integer_sequence<int, I...>) FOVEA_LAMBDA {
        (f(std::integral_constant<int, I>{}), ...);
    }(std::make_integer_sequence<int, Count>{});
}

/// contract: products of a tile of queries with a panel of keys, in registers.
///
///     scores[r][c] = sum_f queries[f][r] * keys[f][c]
template <int Rows, int Vectors, class T, class Arch>
[[gnu::noinline]] void contract(T const* FOVEA_RESTRICT queries,  // (features, Rows)
                                T const* FOVEA_RESTRICT keys,     // (features, Vectors * lanes)
                                index_t features,
                                T* FOVEA_RESTRICT scores,         // (Rows, Vectors * lanes)
                                index_t row_stride) {
    using vector = pack<T, Arch>;
    constexpr index_t width = Vectors * vector::lanes;
    vector sum[Rows][Vectors];  // (Rows, Vectors), all in registers
    unrolled<Rows>([&](auto r) FOVEA_LAMBDA { unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v] = vector(T{0}); }); });
    for (index_t f = 0; f < features; ++f, queries += Rows, keys += width) {
        vector key[Vectors];
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { key[v] = vector::load(keys + v * vector::lanes); });
        unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
            vector const query(queries[r]);
            unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v] = fma(query, key[v], sum[r][v]); });
        });
    }
    unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v].store(scores + r * row_stride + v * vector::lanes); });
    });
}

}  // namespace fovea::kernel
