// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program's view of its attention: functions of views. No specification is compiled where this is included.
#pragma once

//! [header]
#include <fovea/core/view.hpp>

namespace model {

using operand = fovea::view<float const, 4>;  // (batch, head, position, feature)
using result = fovea::view<float, 4>;

/// Causal, with a penalty for distance: one slope for each head.
void alibi_attention(operand query, operand key, operand value, fovea::view<float const, 1> slopes, result to);

/// Causal, over the last `window` positions.
void windowed_attention(operand query, operand key, operand value, fovea::index_t window, result to);

}  // namespace model
//! [header]
