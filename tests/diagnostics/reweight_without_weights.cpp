// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: there are no weights to change yet: write a normalizer such as softmax before reweight
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/reweight.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | reweight(2 * weight) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax | reweight(2 * weight) | weighted_sum, x, result);
#endif
}
