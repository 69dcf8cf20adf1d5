// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <vector>

namespace bench {

/// A directed graph by rows (compressed sparse rows): the neighbours of node i are
/// targets[offsets[i]] ... targets[offsets[i + 1] - 1], ascending and distinct; no node is its own neighbour.
struct edge_lists {
    std::vector<std::int32_t> offsets;
    std::vector<std::int32_t> targets;
};

/// power_law_graph: exactly `edges` random edges whose in-degrees fall off as a power law, as citations do, and whose
/// out-degrees do so more gently; node numbers say nothing about degree. The same on every platform for the same seed.
edge_lists power_law_graph(std::int32_t nodes, std::int32_t edges, std::uint64_t seed);

}  // namespace bench
