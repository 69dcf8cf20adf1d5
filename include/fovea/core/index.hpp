// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

namespace fovea {

using index_t = std::ptrdiff_t;  // positions, sizes and strides

/// Quotient rounded towards minus infinity: buckets of positions do not change their size at zero.
constexpr index_t floor_divide(index_t a, index_t b) {
    auto const quotient = a / b;
    return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

/// Remainder of floor_divide: it has the sign of the divisor.
constexpr index_t floor_modulo(index_t a, index_t b) { return a - floor_divide(a, b) * b; }

/// The smallest multiple of `step` that is not below `n`.
constexpr index_t round_up(index_t n, index_t step) { return (n + step - 1) / step * step; }

}  // namespace fovea
