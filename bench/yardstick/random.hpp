// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/tensor.hpp>

#include <cstdint>
#include <random>

namespace yardstick {

/// A tensor of independent values of mean 0 and variance 1, uniform; the same for the same seed.
template <class T, int Rank>
fovea::tensor<T, Rank> random_tensor(fovea::extents_t<Rank> const& extents, std::uint64_t seed, double scale = 1) {
    fovea::tensor<T, Rank> result(extents);
    std::mt19937_64 bits(seed);
    auto const reach = static_cast<T>(1.7320508075688772 * scale);
    std::uniform_real_distribution<T> value(-reach, reach);
    for (T& element : result) element = value(bits);
    return result;
}

}  // namespace yardstick
