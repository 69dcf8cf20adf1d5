// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: neighbors takes a graph or a graph_view: the keys that each query sees
#include <fovea/mask/neighbors.hpp>

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

std::vector<graph::edge> const edges{{0, 0}};
graph const listed(1, edges);

#ifdef FOVEA_BROKEN
auto made = neighbors(3);
#else
auto made = neighbors(listed);
#endif
