// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/score/compare.hpp>

namespace fovea::FOVEA_SET {

/// scaled_by: the inner product of query and key times a custom factor.
///
///     s_ij = factor sum_c q_ic k_jc
///     scaled_by(0.125)    scaled_by(param(scales)[head])
///
/// Shapes: query and key have the same number of features; the factor is a number or an expression of head, batch,
/// q_idx and the lengths.
/// Cost: one matrix product; the factor is folded into the query.
/// Edge cases: scaled_dot is scaled_by(rsqrt(dim)).
/// Errors: shape_error where query and key have different numbers of features, or a table of factors has too few
/// elements.
template <operand Factor>
constexpr auto scaled_by(Factor const& factor) {
    using namespace placeholders;
    return compare(sum(q * k) * as_expression(factor));
}
template <class... Others>
constexpr ill_formed scaled_by(Others const&...) {
    return detail::refuse_all_but_operand<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
