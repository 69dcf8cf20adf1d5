// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a mask that lists keys cannot be negated: list the other keys
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/logic.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, graph_view edges) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | !neighbors(edges) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | neighbors(edges) | softmax | weighted_sum, x, result);
#endif
}
