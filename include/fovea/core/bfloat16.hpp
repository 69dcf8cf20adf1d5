// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace fovea {

/// bfloat16: the upper half of a float, for storage: 8 bits of exponent, 7 of fraction. Arithmetic happens in float.
///
/// From a number: rounded to nearest, ties to even; a NaN stays one. To float: exact.
struct bfloat16 {
    std::uint16_t bits = 0;

    bfloat16() = default;
    template <class Number>
        requires std::is_arithmetic_v<Number>
    FOVEA_TAGGED constexpr explicit bfloat16(Number x) : bits(rounded(static_cast<float>(x))) {}
    FOVEA_TAGGED static constexpr bfloat16 from_bits(std::uint16_t bits) {
        bfloat16 x;
        x.bits = bits;
        return x;
    }
    FOVEA_TAGGED constexpr operator float() const {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    }

private:
    FOVEA_TAGGED static constexpr std::uint16_t rounded(float x) {
        auto const whole = std::bit_cast<std::uint32_t>(x);
        if (x != x) return static_cast<std::uint16_t>(whole >> 16 | 0x40U);
        return static_cast<std::uint16_t>((whole + 0x7fffU + (whole >> 16 & 1U)) >> 16);
    }
};

}  // namespace fovea
