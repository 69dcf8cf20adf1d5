// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/tensor.hpp>

#include <cstdint>
#include <random>
#include <type_traits>

namespace yardstick {

/// A tensor of independent values of mean 0 and variance 1, uniform; the same for the same seed.
template <class T, int Rank>
fovea::tensor<T, Rank> random_tensor(fovea::extents_t<Rank> const& extents, std::uint64_t seed, double scale = 1) {
    fovea::tensor<T, Rank> result(extents);
    std::mt19937_64 bits(seed);
    using real = std::conditional_t<std::is_same_v<T, double>, double, float>;
    auto const reach = static_cast<real>(1.7320508075688772 * scale);
    std::uniform_real_distribution<real> value(-reach, reach);
    for (T& element : result) element = static_cast<T>(value(bits));
    return result;
}

}  // namespace yardstick
