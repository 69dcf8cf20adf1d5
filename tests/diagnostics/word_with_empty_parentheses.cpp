// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this word takes arguments: write them in parentheses after it
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/score/temperature.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | temperature() | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | temperature(0.5) | softmax | weighted_sum, x, result);
#endif
}
