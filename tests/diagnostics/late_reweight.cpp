// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: reweight changes the weights: write it after the normalizer and before the aggregator
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/reweight.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum | reweight(2 * weight), x, result);
#else
    reference::attend(scaled_dot | softmax | reweight(2 * weight) | weighted_sum, x, result);
#endif
}
