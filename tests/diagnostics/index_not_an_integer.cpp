// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the index of a table must be an integer expression
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result, view<float, 1> table) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | rescore(score + param(table)[kv_idx / 2.f]) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(score + param(table)[kv_idx / 2]) | softmax | weighted_sum, x, result);
#endif
}
