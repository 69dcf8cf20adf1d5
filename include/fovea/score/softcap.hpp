// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/score/rescore.hpp>

namespace fovea::FOVEA_SET {

/// softcap: limits scores smoothly to the range from -cap to cap.
///
///     s' = cap tanh(s / cap)
///
/// Shapes: the cap is a number or an expression of head, such as param(caps)[head].
/// Cost: one tanh for each pair.
/// Gradients: of the score and the tables that the cap reads.
/// Edge cases: scores near 0 hardly change. Where an expression is 0 or below, as in the tables of models with layers
/// or heads that are not capped, scores stay as they are.
/// Errors: std::invalid_argument for a number that is not above 0; shape_error where a table has fewer elements than
/// the call reads.
/// Source: Gemma team 2024 (Gemma 2), section 2.
template <operand Cap>
constexpr auto softcap(Cap const& cap) {
    detail::require_finite_above_0("softcap: the cap", cap);
    using placeholders::score;
    auto const c = as_expression(cap);
    auto const capped = c * tanh(score / c);
    if constexpr (is_literal<std::remove_const_t<decltype(c)>>) return rescore(capped);
    else return rescore(select(c <= 0, score, capped));
}
template <class... Others>
constexpr ill_formed softcap(Others const&...) {
    return detail::refuse_all_but_operand<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
