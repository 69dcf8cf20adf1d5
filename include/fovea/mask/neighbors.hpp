// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/graph.hpp>
#include <fovea/expr/literal.hpp>
#include <fovea/spec/pipe.hpp>

#include <concepts>

namespace fovea::FOVEA_SET {

/// neighbors: the keys of a query are the neighbours of a node, so only edges are visited.
///
/// The graph lists for each query the keys it sees (compressed sparse rows): graph.offsets (queries + 1),
/// graph.keys (edges). An edge that is listed twice counts twice. A node without edges gets zeros. `edge` is the place
/// of an edge in the list that a graph was made of; of rows given directly the place in keys, or graph.numbers there.
/// Cost: proportional to the edges. Keeps a view: the graph must outlive the attention.
/// Errors: graph_error for offsets that do not ascend, keys or numbers out of range, before anything is written.
struct neighbors_t : stage<role::mask> {
    graph_view graph{};

    constexpr neighbors_t() = default;
    constexpr explicit neighbors_t(graph_view g) : graph(g) {}
    constexpr auto predicate() const { return always; }
    constexpr graph_view neighbor_list() const { return graph; }
    std::string text() const {
        return "neighbors(" + std::to_string(graph.queries()) + " nodes, " + std::to_string(graph.edges()) + " edges)";
    }
};

constexpr neighbors_t neighbors(graph_view graph) { return neighbors_t(graph); }
template <std::same_as<graph> Temporary>
constexpr neighbors_t neighbors(Temporary&&) {
    static_assert(never<Temporary>,
                  "fovea: neighbors keeps a view, and this graph is a temporary that ends with the statement");
    return {};
}

}  // namespace fovea::FOVEA_SET
