// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Infinity and NaN by their bits, since where all numbers are taken for finite (-ffast-math), what <limits> has is
// undefined to Clang; and products that no compiler contracts with a sum.
#pragma once

#include <fovea/core/config.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// rounded: a product as it is once it is rounded. No compiler contracts it with a sum into one step, which would
/// decide a comparison otherwise in one loop than in another.
template <std::floating_point T>
FOVEA_INLINE constexpr T rounded(T product) {
    if (!std::is_constant_evaluated()) {
#if defined(__x86_64__)
        if constexpr (std::is_same_v<T, long double>) asm("" : "+t"(product));  // of the definition of double
        else asm("" : "+x"(product));
#elif defined(__aarch64__)
        asm("" : "+w"(product));
#else
        asm("" : "+m"(product));
#endif
    }
    return product;
}

}  // namespace fovea::FOVEA_SET

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
