// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/score/rescore.hpp>

namespace fovea::FOVEA_SET {

/// softcap: limits scores smoothly to the range from -cap to cap.
///
///     s' = cap tanh(s / cap)
///
/// Shapes: the cap is a number or an expression of head; it must be above 0.
/// Cost: one tanh for each pair.
/// Edge cases: scores near 0 hardly change.
/// Errors: std::invalid_argument for a number that is not above 0; shape_error where a table has fewer elements than
/// the call reads.
/// Source: Gemma team 2024 (Gemma 2), section 2.
template <operand Cap>
constexpr auto softcap(Cap const& cap) {
    detail::require_finite_above_0("softcap: the cap", cap);
    auto const c = as_expression(cap);
    return rescore(c * tanh(placeholders::score / c));
}
template <class... Others>
constexpr ill_formed softcap(Others const&...) {
    return detail::refuse_all_but_operand<Others...>();
}

}  // namespace fovea::FOVEA_SET
