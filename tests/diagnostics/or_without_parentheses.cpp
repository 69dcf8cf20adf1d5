// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: `|` binds tighter than `||`: put parentheses around the mask
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/logic.hpp>
#include <fovea/mask/sliding_window.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | causal || sliding_window(8, 8) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | (causal || sliding_window(8, 8)) | softmax | weighted_sum, x, result);
#endif
}
