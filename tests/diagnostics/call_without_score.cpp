// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this specification has no score function: begin it with one, such as scaled_dot
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}
