// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a condition is not a number: write select(condition, x, 0)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | rescore(score + 5 * (q_idx == kv_idx)) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(score + select(q_idx == kv_idx, 5, 0)) | softmax | weighted_sum, x, result);
#endif
}
