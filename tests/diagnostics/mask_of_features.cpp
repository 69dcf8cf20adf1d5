// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a mask may use indices and tables only; it uses features of query or key
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | where(sum(q * k) > 0) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | where(q_idx > kv_idx) | softmax | weighted_sum, x, result);
#endif
}
