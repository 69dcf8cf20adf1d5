// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The numbers that elements of caches stand for, from their bits, without the conversions of the library.
#pragma once

#include <fovea/core/blocks.hpp>
#include <fovea/core/fp8.hpp>
#include <fovea/core/half.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

/// The number of a format with a sign, then bits of an exponent, then bits of a fraction; finite ones alone.
inline double decoded(unsigned bits, int of_exponent, int of_fraction) {
    int const exponent = static_cast<int>(bits >> of_fraction & ((1U << of_exponent) - 1));
    unsigned const hidden = exponent > 0 ? 1U << of_fraction : 0, fraction = bits & ((1U << of_fraction) - 1);
    double const size =
        std::ldexp(hidden + fraction, std::max(exponent, 1) - (1 << (of_exponent - 1)) + 1 - of_fraction);
    return bits >> (of_exponent + of_fraction) & 1 ? -size : size;
}

/// The ith number of an element; 0 but in blocks.
inline double decoded(double x, fovea::index_t) { return x; }
inline double decoded(float x, fovea::index_t) { return static_cast<double>(x); }
inline double decoded(std::int8_t x, fovea::index_t) { return x; }
inline double decoded(fovea::float16 x, fovea::index_t) { return decoded(x.bits, 5, 10); }
inline double decoded(fovea::bfloat16 x, fovea::index_t) { return decoded(x.bits, 8, 7); }
inline double decoded(fovea::fp8_e4m3 x, fovea::index_t) { return decoded(x.bits, 4, 3); }
inline double decoded(fovea::fp8_e5m2 x, fovea::index_t) { return decoded(x.bits, 5, 2); }
inline double decoded(fovea::q8_0 const& x, fovea::index_t i) { return decoded(x.scale, 0) * x.integers[i]; }
inline int quarter(std::uint8_t const* pairs, fovea::index_t i) { return pairs[i % 16] >> (i < 16 ? 0 : 4) & 15; }
inline double decoded(fovea::q4_0 const& x, fovea::index_t i) {
    return decoded(x.scale, 0) * (quarter(x.pairs, i) - 8);
}
inline double decoded(fovea::q4_1 const& x, fovea::index_t i) {
    return decoded(x.scale, 0) * quarter(x.pairs, i) + decoded(x.least, 0);
}
