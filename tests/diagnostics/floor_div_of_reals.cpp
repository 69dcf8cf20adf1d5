// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: floor_div needs integers
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | where(floor_div(kv_idx, 2.5f) == 0) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | where(floor_div(kv_idx, 2) == 0) | softmax | weighted_sum, x, result);
#endif
}
