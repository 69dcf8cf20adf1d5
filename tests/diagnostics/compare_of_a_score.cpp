// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: compare makes the score and cannot use it: for a change of it, use rescore
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/compare.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(compare(tanh(score)) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(tanh(score)) | softmax | weighted_sum, x, result);
#endif
}
