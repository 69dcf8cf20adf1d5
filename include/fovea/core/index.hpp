// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>

#include <cstddef>
#include <cstdint>

namespace fovea::FOVEA_SET {

using index_t = std::int64_t;  // positions, sizes and strides, on every processor

inline constexpr index_t cache_line = 64;  // bytes

/// A built-in array of N elements, or of N by M, where the numbers are signed as sizes are here.
template <class T, auto N>
using c_array = T[std::size_t{N}];
template <class T, auto N, auto M>
using c_array_2d = T[std::size_t{N}][std::size_t{M}];

/// Sums, differences and products of 64 bits in two's complement: what does not fit wraps around.
constexpr index_t wrapped_plus(index_t a, index_t b) {
    return static_cast<index_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
constexpr index_t wrapped_minus(index_t a, index_t b) {
    return static_cast<index_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
constexpr index_t wrapped_times(index_t a, index_t b) {
    return static_cast<index_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// Quotient rounded towards minus infinity: buckets of positions do not change their size at zero. By zero it is 0.
constexpr index_t floor_divide(index_t a, index_t b) {
    if (b == 0) return 0;
    if (b == -1) return wrapped_minus(0, a);
    auto const quotient = a / b;
    return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

/// Remainder of floor_divide: it has the sign of the divisor. By zero it is the dividend.
constexpr index_t floor_modulo(index_t a, index_t b) {
    if (b == 0) return a;
    if (b == -1) return 0;
    auto const rest = a % b;
    return rest + (rest != 0 && (rest < 0) != (b < 0) ? b : 0);
}

/// Quotient rounded up, of n >= 0 and step > 0: how many steps cover n.
FOVEA_INLINE constexpr index_t ceil_div(index_t n, index_t step) { return (n + step - 1) / step; }

/// The smallest multiple of `step` that is not below `n`.
constexpr index_t round_up(index_t n, index_t step) { return ceil_div(n, step) * step; }

}  // namespace fovea::FOVEA_SET

namespace fovea::FOVEA_SET::driver {

/// Indices [first, last): of blocks of rows, of blocks of keys, of head groups, or places in a row.
struct index_range {
    index_t first, last;
    index_t size() const { return last - first; }
};

}  // namespace fovea::FOVEA_SET::driver
