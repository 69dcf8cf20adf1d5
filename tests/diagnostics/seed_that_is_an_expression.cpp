// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this argument is an integer; what was given does not convert to one
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/gumbel.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | gumbel(head) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | gumbel(7) | softmax | weighted_sum, x, result);
#endif
}
