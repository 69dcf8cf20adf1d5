// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this table has fewer axes than indices
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result, view<float const, 1> table) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(score + param(table)[q_idx][kv_idx]) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(score + param(table)[kv_idx]) | softmax | weighted_sum, x, result);
#endif
}
