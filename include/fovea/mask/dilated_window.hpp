// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/mask/where.hpp>

namespace fovea::FOVEA_SET {

/// dilated_window: a query sees every step-th key of a window around its own position.
///
///     |q_idx - kv_idx| <= reach  &&  (q_idx - kv_idx) % step == 0
///
/// Shapes: `reach` and `step` are numbers of positions.
/// Cost: the tiles of the band; within it every tile is mixed unless step is 1.
/// Edge cases: a step below 1 counts as 1.
/// Source: Beltagy, Peters and Cohan 2020, section 3.1.
constexpr auto dilated_window(index_t reach, index_t step) {
    using namespace placeholders;
    index_t const stride = step < 1 ? 1 : step;
    return where(q_idx - kv_idx <= reach && kv_idx - q_idx <= reach && (q_idx - kv_idx) % stride == 0);
}

}  // namespace fovea::FOVEA_SET
