// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this argument is an integer; what was given does not convert to one
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/sliding_window.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | sliding_window(q_idx / 2, 0) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | where(kv_idx <= q_idx && q_idx - kv_idx <= q_idx / 2) | softmax | weighted_sum, x, result);
#endif
}
