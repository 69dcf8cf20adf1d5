// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of 16 bits, for storage: bfloat16 and float16.
#pragma once

#include <fovea/core/prologue.hpp>

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

/// float16: IEEE binary16, for storage: 5 bits of exponent, 10 of fraction. Arithmetic happens in float.
///
/// From a number: rounded to nearest, ties to even; beyond 65504 infinite; a NaN stays one. To float: exact.
struct float16 {
    std::uint16_t bits = 0;

    float16() = default;
    template <class Number>
        requires std::is_arithmetic_v<Number>
    FOVEA_TAGGED constexpr explicit float16(Number x) : bits(rounded(static_cast<float>(x))) {}
    FOVEA_TAGGED static constexpr float16 from_bits(std::uint16_t bits) {
        float16 x;
        x.bits = bits;
        return x;
    }

    /// Adding to the exponent corrects its bias; subnormal numbers are integers times 2^-24. No number on the way is
    /// subnormal as a float, so that none is lost where those count as 0.
    FOVEA_TAGGED constexpr operator float() const {
        auto const sign = (bits & std::uint32_t{0x8000}) << 16;
        auto const integer = bits & std::uint32_t{0x7fff}, magnitude = integer << 13;
        auto const size = magnitude >= 0x0f800000U  // infinite or NaN
                            ? std::bit_cast<float>(magnitude | 0x7f800000U)
                            : magnitude < 0x00800000U ? static_cast<float>(integer) * 0x1p-24f
                                                      : std::bit_cast<float>(magnitude + 0x38000000U);
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | sign);
    }

private:
    FOVEA_TAGGED static constexpr std::uint16_t rounded(float x) {
        auto const whole = std::bit_cast<std::uint32_t>(x);
        auto const sign = whole >> 16 & 0x8000U;
        auto const magnitude = whole & 0x7fffffffU;
        std::uint32_t half = 0;
        if (magnitude > 0x7f800000U) half = 0x7e00U;        // NaN
        else if (magnitude >= 0x477ff000U) half = 0x7c00U;  // rounds beyond the greatest finite number
        else if (magnitude < 0x38800000U)                   // subnormal: adding 0.5 rounds at the right place
            half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000U;
        else half = (magnitude - 0x38000000U + 0x0fffU + (magnitude >> 13 & 1U)) >> 13;
        return static_cast<std::uint16_t>(sign | half);
    }
};

}  // namespace fovea

#include <fovea/core/epilogue.hpp>
