// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: weigh needs an expression of score and of nothing else: what depends on indices, put into a rescore
// before it
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/weigh.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | weigh(exp(score - kv_idx)) | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(score - kv_idx) | weigh(exp(score)) | weighted_sum, x, result);
#endif
}
