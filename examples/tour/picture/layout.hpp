// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "picture/point.hpp"

#include <utility>
#include <vector>

namespace picture {

/// Positions of the nodes of a connected graph in a box, such that distances on paper follow distances in the graph
/// (stress majorization from a circle: Gansner, Koren, North 2004). Deterministic. Edges join nodes numbered from 0.
std::vector<point> layout(int nodes, std::vector<std::pair<int, int>> const& edges, double width, double height);

}  // namespace picture
