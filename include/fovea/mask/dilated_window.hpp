// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/integer_argument.hpp>
#include <fovea/mask/where.hpp>

namespace fovea::FOVEA_SET {

/// dilated_window: a query sees every step-th key of a window around its own position.
///
///     |q_idx - kv_idx| <= reach  &&  (q_idx - kv_idx) % step == 0
///
/// Shapes: `reach` and `step` are numbers of positions.
/// Cost: only the tiles of the band are visited; within it every tile is mixed unless step is 1.
/// Edge cases: a reach of 0 shows each query the key at its own position.
/// Errors: std::invalid_argument for a negative reach, and for a step below 1.
/// Source: Beltagy, Peters and Cohan 2020, section 3.1.
constexpr auto dilated_window(integer_argument reach, integer_argument step) {
    using namespace placeholders;
    detail::require_0_or_more("dilated_window: reach", reach.value);
    detail::require_1_or_more("dilated_window: step", step.value);
    return where(q_idx - kv_idx <= reach.value && kv_idx - q_idx <= reach.value && (q_idx - kv_idx) % step.value == 0);
}
template <class... Others>
    requires(sizeof...(Others) != 2)
constexpr ill_formed dilated_window(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
