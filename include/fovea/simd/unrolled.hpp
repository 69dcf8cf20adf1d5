// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that are always unrolled.
#pragma once

#include <fovea/core/config.hpp>

#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::kernel {

/// Calls f(std::integral_constant<int, 0>{}), f(... 1), ...: a loop that is always unrolled.
template <int Count, class F>
FOVEA_INLINE void unrolled(F&& f) {
    [&]<int... I>(std::integer_sequence<int, I...>)
        FOVEA_LAMBDA { (f(std::integral_constant<int, I>{}), ...); }(std::make_integer_sequence<int, Count>{});
}

}  // namespace fovea::FOVEA_SET::kernel
