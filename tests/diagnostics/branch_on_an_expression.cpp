// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: no value is known while an expression is built: use select(condition, a, b)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | rescore(score > 0 ? 2 * score : 3 * score) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(select(score > 0, 2 * score, 3 * score)) | softmax | weighted_sum, x,
                      result);
#endif
}
