// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>

#include <bit>
#include <cstdint>
#include <limits>

namespace fovea::FOVEA_SET {

/// Infinity by its bits: where all numbers are taken for finite (-ffast-math), what <limits> has is undefined to Clang.
template <class T>
inline constexpr T infinite = std::numeric_limits<T>::infinity();
template <>
inline constexpr float infinite<float> = std::bit_cast<float>(std::uint32_t{0x7f800000});
template <>
inline constexpr double infinite<double> = std::bit_cast<double>(std::uint64_t{0x7ff0000000000000});

/// A quiet NaN by its bits.
template <class T>
inline constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();
template <>
inline constexpr float not_a_number<float> = std::bit_cast<float>(std::uint32_t{0x7fc00000});
template <>
inline constexpr double not_a_number<double> = std::bit_cast<double>(std::uint64_t{0x7ff8000000000000});

}  // namespace fovea::FOVEA_SET
