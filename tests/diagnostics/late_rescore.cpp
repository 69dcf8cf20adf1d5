// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: rescore changes the score: write it after the score function and before the mask
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | causal | rescore(2 * score) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(2 * score) | causal | softmax | weighted_sum, x, result);
#endif
}
