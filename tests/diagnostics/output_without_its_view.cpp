// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this word takes arguments: write them in parentheses after it
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result, [[maybe_unused]] view<float, 1> log_sums) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum, x, result, lse);
#else
    attend(scaled_dot | softmax | weighted_sum, x, result, lse(log_sums));
#endif
}
