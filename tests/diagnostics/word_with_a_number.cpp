// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this word takes no arguments: write it without parentheses
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/score/temperature.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax(0.5) | weighted_sum, x, result);
#else
    attend(scaled_dot | temperature(0.5) | softmax | weighted_sum, x, result);
#endif
}
