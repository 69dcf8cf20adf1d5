// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: edge is the number of an edge in a list of keys: add a mask that lists them, such as
// neighbors(graph)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result, view<float const, 1> table, graph_view g) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | rescore(score + param(table)[edge]) | causal | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(score + param(table)[edge]) | neighbors(g) | softmax | weighted_sum, x,
                      result);
#endif
}
