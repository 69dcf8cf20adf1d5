// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/graph.hpp>

#include <cstdint>

namespace yardstick {

/// power_law_graph: exactly `edges` distinct random edges, none from a node to itself. How often a node is looked at
/// falls off as a power law, as citations do; how many nodes it looks at does so more gently. Node numbers say nothing
/// about degree. The same on every platform for the same seed.
fovea::graph power_law_graph(std::int32_t nodes, std::int32_t edges, std::uint64_t seed);

}  // namespace yardstick
