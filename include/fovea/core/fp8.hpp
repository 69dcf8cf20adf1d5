// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of 8 bits with an exponent, for storage: E4M3 and E5M2.
#pragma once

#include <fovea/core/half.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace fovea {

/// fp8_e4m3: 4 bits of exponent, 3 of fraction, no infinity, for storage: numbers up to 448. Arithmetic happens in
/// float.
///
/// From a number: rounded to nearest, ties to even; beyond 448 it is 448; a NaN stays one. To float: exact.
/// Source: Micikevicius et al. 2022 (FP8 formats for deep learning), table 1.
struct fp8_e4m3 {
    std::uint8_t bits = 0;

    fp8_e4m3() = default;
    template <class Number>
        requires std::is_arithmetic_v<Number>
    FOVEA_TAGGED constexpr explicit fp8_e4m3(Number x) : bits(rounded(static_cast<float>(x))) {}
    FOVEA_TAGGED static constexpr fp8_e4m3 from_bits(std::uint8_t bits) {
        fp8_e4m3 x;
        x.bits = bits;
        return x;
    }
    FOVEA_TAGGED constexpr operator float() const {
        std::uint32_t const size = bits & 0x7fU;
        float const magnitude = size == 0x7fU ? std::numeric_limits<float>::quiet_NaN()
                              : size < 8      ? static_cast<float>(size) * 0x1p-9f
                                              : std::bit_cast<float>((size << 20) + 0x3c000000U);
        return bits & 0x80U ? -magnitude : magnitude;
    }

private:
    FOVEA_TAGGED static constexpr std::uint8_t rounded(float x) {
        auto const whole = std::bit_cast<std::uint32_t>(x);
        auto const sign = whole >> 24 & 0x80U, magnitude = whole & 0x7fffffffU;
        std::uint32_t size = 0;
        if (x != x) size = 0x7fU;
        else if (magnitude >= 0x43e00000U) size = 0x7eU;
        else if (magnitude < 0x3c800000U)  // subnormal: adding 2^14 rounds at the right place
            size = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0x1p14f) - 0x46800000U;
        else size = std::min((magnitude - 0x3c000000U + 0x7ffffU + (magnitude >> 20 & 1U)) >> 20, 0x7eU);
        return static_cast<std::uint8_t>(sign | size);
    }
};

/// fp8_e5m2: 5 bits of exponent, 2 of fraction, for storage: the upper half of a float16. Arithmetic happens in float.
///
/// From a number: rounded to nearest, ties to even; beyond 57344 infinite; a NaN stays one. To float: exact.
/// Source: Micikevicius et al. 2022 (FP8 formats for deep learning), table 1.
struct fp8_e5m2 {
    std::uint8_t bits = 0;

    fp8_e5m2() = default;
    template <class Number>
        requires std::is_arithmetic_v<Number>
    FOVEA_TAGGED constexpr explicit fp8_e5m2(Number x) : bits(rounded(static_cast<float>(x))) {}
    FOVEA_TAGGED static constexpr fp8_e5m2 from_bits(std::uint8_t bits) {
        fp8_e5m2 x;
        x.bits = bits;
        return x;
    }
    FOVEA_TAGGED constexpr operator float() const { return float16::from_bits(static_cast<std::uint16_t>(bits << 8)); }

private:
    FOVEA_TAGGED static constexpr std::uint8_t rounded(float x) {
        auto const whole = std::bit_cast<std::uint32_t>(x);
        auto const sign = whole >> 24 & 0x80U, magnitude = whole & 0x7fffffffU;
        std::uint32_t size = 0;
        if (x != x) size = 0x7eU;
        else if (magnitude >= 0x47700000U) size = 0x7cU;  // rounds beyond the greatest finite number
        else if (magnitude < 0x38800000U)                 // subnormal: adding 2^7 rounds at the right place
            size = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0x1p7f) - 0x43000000U;
        else size = (magnitude - 0x38000000U + 0xfffffU + (magnitude >> 21 & 1U)) >> 21;
        return static_cast<std::uint8_t>(sign | size);
    }
};

}  // namespace fovea
