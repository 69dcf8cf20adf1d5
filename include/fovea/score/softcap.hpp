// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/score/rescore.hpp>

namespace fovea::FOVEA_SET {

/// softcap: scores kept between -cap and cap, smoothly.
///
///     s' = cap tanh(s / cap)
///
/// Near 0 nothing changes. Cost: one tanh for each pair. The cap is a number or an expression of head; above 0.
/// Source: Gemma team 2024, section 2.
template <operand Cap>
constexpr auto softcap(Cap const& cap) {
    auto const c = as_expression(cap);
    return rescore(c * tanh(placeholders::score / c));
}

}  // namespace fovea::FOVEA_SET
