// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/score/compare.hpp>

namespace fovea::FOVEA_SET {

/// l1_distance: minus the sum of the distances of query and key, feature by feature (Laplace kernel).
///
///     s_ij = -sum_c |q_ic - k_jc| / width
///
/// Cost: a subtraction, a size and an addition for each feature and pair. Source: Kim et al. 2019 (Attentive neural
/// processes), section 3.2, Laplace attention.
template <operand Width>
constexpr auto l1_distance(Width const& width) {
    using namespace placeholders;
    return compare(-sum(abs(q - k)) / as_expression(width));
}

}  // namespace fovea::FOVEA_SET
