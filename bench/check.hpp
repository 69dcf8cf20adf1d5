// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/half.hpp>
#include <fovea/core/tensor.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

namespace bench {

/// Half a unit in the last place of 1 in the formats of 16 bits; elsewhere part of `arithmetic`.
template <class T>
inline constexpr double stored_rounding = 0;
template <>
inline constexpr double stored_rounding<fovea::bfloat16> = 1.0 / 256;
template <>
inline constexpr double stored_rounding<fovea::float16> = 1.0 / 2048;

/// The distance between two results that differ by rounding. Each of the two may have rounded its weights, which add up
/// to 1, and its result to storage; values are at most sqrt(3), as `random_tensor` makes them.
template <class T>
double tolerance(double expected) {
    constexpr double arithmetic = 1e-5, greatest_value = 1.7320508075688772;
    return arithmetic + 2 * stored_rounding<T> * (greatest_value + std::abs(expected));
}

/// check: two programs that are compared compute the same but for rounding; throws where they do not.
template <class T, int Rank>
void check(std::string const& who, fovea::tensor<T, Rank> const& result, fovea::tensor<T, Rank> const& expected) {
    for (fovea::index_t i = 0; i < expected.size(); ++i)
        if (double const right = static_cast<double>(expected.data()[i]);
            !(std::abs(static_cast<double>(result.data()[i]) - right) < tolerance<T>(right)))
            throw std::logic_error(who + " computes something else");
}

}  // namespace bench
