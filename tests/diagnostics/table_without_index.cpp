// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a table outside sum() needs an index for each of its axes
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result, view<float, 2> table) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | rescore(score + param(table)[head]) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(score + param(table)[head][kv_idx]) | softmax | weighted_sum, x, result);
#endif
}
