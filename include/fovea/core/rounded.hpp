// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>

#include <concepts>
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
