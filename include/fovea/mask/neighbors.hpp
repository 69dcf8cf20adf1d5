// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/graph.hpp>
#include <fovea/expr/literal.hpp>
#include <fovea/spec/pipe.hpp>

#include <concepts>

namespace fovea::FOVEA_SET {

/// neighbors: the keys of a query are the neighbours of a node, so only edges are visited.
///
///     graph.keys[graph.offsets[q_idx] ... graph.offsets[q_idx + 1] - 1]
///
/// Shapes: `offsets` (queries + 1), `keys` (edges) and `numbers` (edges) or none, as compressed sparse rows; `graph`
/// makes them from pairs. Queries and keys may be different sets of nodes. The graph is kept as a view.
/// Cost: proportional to the edges, not to the pairs.
/// Edge cases: an edge listed twice counts twice; a node without edges gets zeros. `edge`, for tables over edges, is
/// the place in the list given to graph(n, edges); for compressed sparse rows the place in keys, or the entry in
/// numbers.
/// Errors: graph_error for offsets that do not ascend, or keys or numbers out of range; nothing is written then.
/// Source: Velickovic et al. 2018, section 2.1.
struct neighbors_t : stage<role::mask> {
    graph_view graph{};

    constexpr neighbors_t() = default;
    constexpr explicit neighbors_t(graph_view g) : graph(g) {}
    constexpr auto predicate() const { return always; }
    constexpr graph_view neighbor_list() const { return graph; }
    std::string text() const {
        return detail::message_of({"neighbors(", detail::counted(graph.queries(), "node"), ", ",
                                   detail::counted(graph.edges(), "edge"), ")"});
    }
};

constexpr neighbors_t neighbors(graph_view graph) { return neighbors_t(graph); }
template <std::same_as<graph> Temporary>
constexpr neighbors_t neighbors(Temporary&&) {
    static_assert(
        never<Temporary>,
        "fovea: neighbors keeps a view, and this graph is a temporary, destroyed at the end of the statement");
    return {};
}
template <class Other>
    requires(!std::convertible_to<Other, graph_view>)
constexpr neighbors_t neighbors(Other const&) {
    static_assert(never<Other>, "fovea: neighbors takes a graph or a graph_view: the keys that each query sees");
    return {};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed neighbors(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
