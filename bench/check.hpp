// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/bfloat16.hpp>
#include <fovea/core/float16.hpp>
#include <fovea/core/tensor.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

namespace bench {

/// What may lie between two results of type T that differ by rounding: weights and values of order 1, in 16 bits both
/// rounded at every stored step.
template <class T>
inline constexpr double rounding = 1e-5;
template <>
inline constexpr double rounding<fovea::bfloat16> = 2e-2;
template <>
inline constexpr double rounding<fovea::float16> = 3e-3;

/// check: two programs that are compared compute the same but for rounding; throws where they do not.
template <class T, int Rank>
void check(std::string const& who, fovea::tensor<T, Rank> const& result, fovea::tensor<T, Rank> const& expected) {
    for (fovea::index_t i = 0; i < expected.size(); ++i)
        if (!(std::abs(static_cast<double>(result.data()[i]) - static_cast<double>(expected.data()[i])) < rounding<T>))
            throw std::logic_error(who + " computes something else");
}

}  // namespace bench
