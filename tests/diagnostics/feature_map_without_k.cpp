// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the second map of feature_map is an expression of k
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/feature_map.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(feature_map(elu(q) + 1, elu(q) + 1) | softmax | weighted_sum, x, result);
#else
    reference::attend(feature_map(elu(q) + 1, elu(k) + 1) | softmax | weighted_sum, x, result);
#endif
}
