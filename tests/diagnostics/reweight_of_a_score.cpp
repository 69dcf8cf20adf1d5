// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: reweight may use weight, indices and tables only
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/reweight.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | reweight(weight * score) | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(tanh(score)) | softmax | reweight(weight / (1 + kv_idx)) | weighted_sum, x,
                      result);
#endif
}
