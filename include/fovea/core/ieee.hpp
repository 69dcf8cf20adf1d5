// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Infinity and NaN by their bits: where all numbers are taken for finite (-ffast-math), what <limits> has is undefined
// to Clang.
#pragma once

#include <fovea/core/config.hpp>

#include <bit>
#include <cstdint>
#include <limits>

namespace fovea::FOVEA_SET::ieee {

template <class T>
inline constexpr T infinity = std::numeric_limits<T>::infinity();
template <>
inline constexpr float infinity<float> = std::bit_cast<float>(std::uint32_t{0x7f800000});
template <>
inline constexpr double infinity<double> = std::bit_cast<double>(std::uint64_t{0x7ff0000000000000});

template <class T>
inline constexpr T nan = std::numeric_limits<T>::quiet_NaN();
template <>
inline constexpr float nan<float> = std::bit_cast<float>(std::uint32_t{0x7fc00000});
template <>
inline constexpr double nan<double> = std::bit_cast<double>(std::uint64_t{0x7ff8000000000000});

}  // namespace fovea::FOVEA_SET::ieee
