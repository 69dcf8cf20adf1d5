// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a sink is one number for each row: it may use head, batch, q_idx and lengths
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax_with_sink.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax_with_sink(0.1f * kv_idx) | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax_with_sink(0.1f * head) | weighted_sum, x, result);
#endif
}
