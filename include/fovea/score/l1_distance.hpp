// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/score/compare.hpp>

namespace fovea::FOVEA_SET {

/// l1_distance: minus the sum of the absolute differences of query and key, over the features (Laplace kernel).
///
///     s_ij = -sum_c |q_ic - k_jc| / width
///
/// Shapes: query and key have the same number of features; the width is a number or an expression of head.
/// Cost: a subtraction, an absolute value and an addition for each feature and pair; no distance is stored.
/// Errors: std::invalid_argument for a width that is not above 0; shape_error where query and key have different
/// numbers of features, or a table of widths has too few elements. Source: Kim et al. 2019 (attentive neural
/// processes), section 3.2.
template <operand Width>
constexpr auto l1_distance(Width const& width) {
    using namespace placeholders;
    detail::require_above_0("l1_distance: the width", width);
    return compare(-sum(abs(q - k)) / as_expression(width));
}
template <class... Others>
constexpr ill_formed l1_distance(Others const&...) {
    return detail::refuse_all_but_operand<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
