// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/yardstick/vector.hpp"

#include <limits>
#include <utility>

#if defined(__AVX512DQ__)
#include <immintrin.h>
#endif

/// hand: what a programmer writes for one kernel on one machine, float32, nothing general.
namespace bench::hand {

using vector = yardstick::vector<float>;
using yardstick::all;
using yardstick::load;
using yardstick::store;
inline constexpr std::ptrdiff_t lanes = yardstick::lanes<float>;

inline constexpr float log2_e = 1.44269504088896341f;
inline constexpr float no_score = -std::numeric_limits<float>::infinity();

/// 2^x within 2 units in the last place; 0 for minus infinity.
[[gnu::always_inline]] inline vector exp2(vector const& x) {
#if defined(__AVX512DQ__)
    vector const r = _mm512_maskz_reduce_ps(0xffff, x, _MM_FROUND_TO_NEG_INF), whole = x;
    auto const scaled = [](vector const& p, vector const& n) __attribute__((always_inline)) {
        return static_cast<vector>(_mm512_maskz_scalef_ps(0xffff, p, n));
    };
#else
    using integers = yardstick::vector<std::int32_t>;
    vector const bounded = x > -126.f ? x : all(-126.f);
    // Adding 1.5 * 2^23 rounds and leaves the integer in the lowest bits.
    vector const sum = (bounded - 0.5f) + 12582912.f, whole = sum - 12582912.f, r = bounded - whole;
    auto const scaled = [&sum, &x](vector const& p, vector const&) __attribute__((always_inline)) {
        vector const result =
            reinterpret_cast<vector>(reinterpret_cast<integers>(p) + (reinterpret_cast<integers>(sum) << 23));
        return x > -126.f ? result : vector{};
    };
#endif
    vector p = r * 0.00187757628181320011f + 0.008989341115125989f;
    p = p * r + 0.0558263171427028809f;
    p = p * r + 0.240153617398228006f;
    p = p * r + 0.693153073129445892f;
    p = p * r + 0.999999925067315968f;
    return scaled(p, whole);
}

[[gnu::always_inline]] inline vector greater(vector const& a, vector const& b) { return a > b ? a : b; }

/// The lanes of a and b by turns: the first halves, or the second ones.
template <bool Second, std::ptrdiff_t... I>
[[gnu::always_inline]] inline vector by_turns(vector const& a, vector const& b,
                                              std::integer_sequence<std::ptrdiff_t, I...>) {
    return __builtin_shufflevector(a, b, (I / 2 + (Second ? lanes / 2 : 0) + (I % 2 ? lanes : 0))...);
}

/// As many rows as a vector has lanes become columns.
[[gnu::always_inline]] inline void transpose(vector (&rows)[lanes]) {
    using indices = std::make_integer_sequence<std::ptrdiff_t, lanes>;
    for (std::ptrdiff_t half = lanes; half > 1; half /= 2) {
        vector next[lanes];
        for (std::ptrdiff_t i = 0; i < lanes / 2; ++i) {
            next[2 * i] = by_turns<false>(rows[i], rows[i + lanes / 2], indices{});
            next[2 * i + 1] = by_turns<true>(rows[i], rows[i + lanes / 2], indices{});
        }
        for (std::ptrdiff_t i = 0; i < lanes; ++i) rows[i] = next[i];
    }
}

template <std::ptrdiff_t By, std::ptrdiff_t... I>
[[gnu::always_inline]] inline vector turned(vector const& a, std::integer_sequence<std::ptrdiff_t, I...>) {
    return __builtin_shufflevector(a, a, ((I + By) % lanes)...);
}

/// One number out of all lanes, by halves.
template <std::ptrdiff_t Half = lanes / 2, class F>
[[gnu::always_inline]] inline float reduce(vector const& v, F f) {
    if constexpr (Half == 0) return v[0];
    else return reduce<Half / 2>(f(v, turned<Half>(v, std::make_integer_sequence<std::ptrdiff_t, lanes>{})), f);
}

}  // namespace bench::hand
