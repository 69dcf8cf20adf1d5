// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this integer quotient, which `/` rounds down, would become a real: write real(x) / y, or
// floor_div(x, y) if rounding is meant
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | where(kv_idx / kv_len < 0.5f) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | where(real(kv_idx) / kv_len < 0.5f && kv_idx / 2 < 9) | softmax | weighted_sum, x,
                      result);
#endif
}
