// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/score/compare.hpp>

namespace fovea::FOVEA_SET {

/// gatv2_score: the score of dynamic graph attention, the non-linearity inside the sum.
///
///     s_ij = sum_c a_hc leaky_relu(q_ic + k_jc, slope)
///
/// `a` is (head, feature). Cost: one leaky_relu per feature and edge.
/// Source: Brody, Alon and Yahav 2022, equation 7.
template <class Weights, class Slope = float>
constexpr auto gatv2_score(Weights&& a, Slope slope = 0.2f) {
    using namespace placeholders;
    return compare(sum(param(std::forward<Weights>(a))[head] * leaky_relu(q + k, slope)));
}

}  // namespace fovea::FOVEA_SET
