// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this word takes arguments: write them in parentheses after it
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/sliding_window.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | sliding_window | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | sliding_window(256, 0) | softmax | weighted_sum, x, result);
#endif
}
