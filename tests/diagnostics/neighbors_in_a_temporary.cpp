// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: neighbors keeps a view, and this graph is a temporary, destroyed at the end of the statement
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

std::vector<graph::edge> const edges{{0, 1}, {2, 3}};
graph const four_nodes(4, edges);

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | neighbors(graph(4, edges)) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | neighbors(four_nodes) | softmax | weighted_sum, x, result);
#endif
}
