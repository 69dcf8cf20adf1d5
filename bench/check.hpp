// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/tensor.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

namespace bench {

/// check: two programs that are compared compute the same but for rounding; throws where they do not.
template <class T>
void check(std::string const& who, fovea::tensor<T, 4> const& result, fovea::tensor<T, 4> const& expected) {
    for (fovea::index_t i = 0; i < expected.size(); ++i)
        if (!(std::abs(result.data()[i] - expected.data()[i]) < T(1e-5)))
            throw std::logic_error(who + " computes something else");
}

}  // namespace bench
