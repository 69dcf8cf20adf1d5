// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this specification already has a score function; another cannot be added after it: to change the
// score, use rescore(expression of score)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | dot | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(2 * score) | softmax | weighted_sum, x, result);
#endif
}
