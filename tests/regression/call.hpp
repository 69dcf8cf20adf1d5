// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/tensor.hpp>
#include <fovea/testing/random.hpp>

#include <functional>

namespace regression {

/// Makes what a file in calls/ counts: operands are filled here, the function that is returned is counted. It is called
/// once before, so that scratch is there.
using prepare_t = std::function<void()>();
prepare_t prepare;

/// The same numbers in every run.
template <class... Size>
fovea::tensor<float, sizeof...(Size)> numbers(unsigned seed, Size... sizes) {
    fovea::testing::dice from(seed);
    return fovea::testing::random_tensor<float>(from, std::array<fovea::index_t, sizeof...(Size)>{sizes...});
}

}  // namespace regression
