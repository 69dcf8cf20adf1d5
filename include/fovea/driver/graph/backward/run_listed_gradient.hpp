// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient over listed keys: one pass over the queries, and one over the keys.
#pragma once

#include <fovea/driver/call/backward/pass_sink.hpp>
#include <fovea/driver/call/copies.hpp>
#include <fovea/driver/graph/backward/key_pass.hpp>
#include <fovea/driver/graph/backward/query_pass.hpp>
#include <fovea/driver/run/executor.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/spec/call/check_gradient.hpp>
#include <fovea/spec/call/wide_integers.hpp>

#include <algorithm>
#include <limits>

namespace fovea::FOVEA_SET::driver {

/// The gradient of softmax(S) V over listed keys, and that of any other normalizer:
///
///     w = exp(s - m) / l,   D = sum_k w (dO . v_k),   ds = w (dO . v - D)
///
/// The pass over the queries finds m, l and D of each row, and adds up what goes to queries, to tables and to terms of
/// queries. The pass over the keys adds up what goes to keys, to values and to terms of keys, edge by edge of the list
/// turned around. It computes the weights of softmax again, without memory for each edge, unless that gathers rows of
/// tables (listed_gradient_call::keeps_edges). All that it reads of a query but its features stands at one place,
/// since queries come in no order there. Each row of a gradient is added up in one place, in the order of its edges;
/// gradients of tables in shares of the positions, whose number does not depend on the threads.
template <class Call>
class listed_gradient {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using places = typename Call::places;
    static constexpr bool keeps_edges = Call::keeps_edges;

public:
    listed_gradient(typename Call::spec const& spec, typename Call::operands const& x, graph_view graph)
        : spec_(spec), x_(x), graph_(graph) {}

    /// `shares` of the positions, each with its share of the tables of `targets`.
    template <class Executor, class Targets>
    void run(Executor const& executor, workspace& scratch, index_t shares, Targets const& targets) const {
        auto& shared = scratch.shared();
        auto const take_terms = [&](index_t terms, index_t positions) {
            return shared.template take<T>(x_.batches() * terms * term_stride<T, Arch>(lanes_, positions));
        };
        bool const over_keys = x_.d_key.data != nullptr || x_.d_value.data != nullptr || places::keys > 0
                            || targets.of_share(0, true).any();
        T *const of_queries = take_terms(places::rows, x_.queries()), *const of_keys =
                                                                          take_terms(places::keys, x_.keys());
        index_t const columns = x_.value_features(), all_columns = lanes_.heads * columns, size = kept_size(),
                      of_batch = size * (keeps_edges ? graph_.edges() : x_.queries());
        T* const first =
            over_keys ? shared.template take<T>(x_.batches() * of_batch + kernel::pack<T, Arch>::lanes) : nullptr;
        auto const kept = [&](index_t b) {
            return over_keys ? kept_numbers<T>{first + b * of_batch, size} : kept_numbers<T>{};
        };
        compute_side_terms<kernel::side::query, T, Arch>(executor, x_, lanes_, spec_.score.parts.rows, of_queries);
        compute_side_terms<kernel::side::key, T, Arch>(executor, x_, lanes_, spec_.score.parts.keys, of_keys);

        query_pass<Call> const queries(spec_, x_, graph_, of_queries, of_keys);
        in_shares(executor, scratch, shares, x_.queries(),
                  [&](arena& memory, index_t share, index_t from, index_t end) {
                      queries.run(memory, from, end, targets.of_share(share, false), kept);
                  });
        if (!over_keys) return;
        auto const list = transposed(graph_, x_.keys(), Call::numbers_edges, keeps_edges, shared);
        auto const run_keys = [&](auto const& x) {
            key_pass<with_operands<std::remove_cvref_t<decltype(x)>>> const keys(spec_, x, list, of_keys, size);
            in_shares(executor, scratch, shares, x_.keys(),
                      [&](arena& memory, index_t share, index_t from, index_t end) {
                          keys.run(memory, from, end, {targets.of_share(share), targets.of_share(share, true)}, kept);
                      });
        };
        if constexpr (keeps_edges) run_keys(x_);
        else
            run_keys(x_.with_results(
                view<T const, 4>(first + size - all_columns, x_.d_result.extents, {of_batch, columns, size, 1})));
    }

private:
    template <class Operands>
    using with_operands = listed_gradient_call<T, Arch, typename Call::spec, Operands, typename Call::tables>;

    /// How many numbers the first pass leaves to the second: for each edge, or for each query, whole cache lines with
    /// dO / l at their end.
    index_t kept_size() const {
        if constexpr (keeps_edges) return (1 + places::planes + places::keys) * lanes_.padded_heads;
        else
            return round_up((places::rows + listed_softmax<Call>::coordinates) * lanes_.padded_heads
                                + lanes_.heads * x_.value_features(),
                            cache_line / index_t{sizeof(T)});
    }

    template <class Executor, class Body>
    static void in_shares(Executor const& executor, workspace& scratch, index_t shares, index_t n, Body const& body) {
        executor.run(shares, [&](index_t share, index_t worker) {
            auto& memory = scratch.worker(worker);
            memory.clear();
            body(memory, share, share * n / shares, (share + 1) * n / shares);
        });
    }

    typename Call::spec const& spec_;
    typename Call::operands const& x_;
    graph_view graph_;
    kernel::head_lanes lanes_{x_.query.extent(1)};
};

/// True where no two edges have the same number.
inline bool numbers_differ(graph_view const& graph, arena& memory) {
    if (graph.numbers.empty()) return true;
    auto* const seen = memory.take<bool>(graph.edges());
    std::fill_n(seen, graph.edges(), false);
    for (auto const n : graph.numbers)
        if (std::exchange(seen[n], true)) return false;
    return true;
}

/// True where every place of an expression that reads a table has an index that no two positions share: `Position`
/// itself, of `positions`, each with a row of its own, or where edges have numbers of their own the number.
template <class Position, class E, class Named>
bool differs_by(E const& e, index_t positions, bool numbers_differ, Named const& named) {
    if constexpr (is_parameter<E>) {
        return !named(e.table);
    } else if constexpr (is_node_of<at_operation, E>) {
        return with_children(e, [&](auto const& table, auto const&... indices) {
            int axis = 0;
            bool differs = false;
            auto const look = [&]<class Index>(Index const&) {
                differs = differs || (std::is_same_v<Index, Position> && table.table.extent(axis) >= positions)
                       || (std::is_same_v<Index, edge_t> && numbers_differ);
                ++axis;
            };
            (look(indices), ...);
            return differs || !named(table.table);
        });
    } else if constexpr (is_node<E>) {
        return with_children(e, [&](auto const&... children) {
            return (differs_by<Position>(children, positions, numbers_differ, named) && ...);
        });
    } else {
        return true;
    }
}

/// True where an expression reads a table.
template <class E, class Named>
bool reads_named(E const& e, Named const& named) {
    if constexpr (is_parameter<E>) return named(e.table);
    else if constexpr (is_node<E>)
        return with_children(e, [&](auto const&... children) { return (reads_named(children, named) || ...); });
    else return false;
}

/// Calls f with the type of the numbers that a gradient over listed keys is computed in: T, or double where integers
/// need the 64 bits that they have beside it.
template <class T, class A, class Call, class F>
bool in_wide_enough(A const& a, Call const& call, F const& f) {
    if constexpr (may_need_wide_integers<T, A>())
        if (needs_wide_integers<T>(a, call.shapes)) return f(std::type_identity<double>{});
    return f(std::type_identity<T>{});
}

/// Whether the passes over listed keys take a call: not where there is nothing to add up.
template <class Call>
bool takes_listed_gradient(Call const& call) {
    return call.query.extent(2) <= std::numeric_limits<std::int32_t>::max() && call.shapes.features() > 0;
}

/// The passes over listed keys: what operands get goes to `rows`, tables to `targets`, where they have been begun.
template <class T, class Arch, class Executor, class A, class Bound, class Targets>
void run_listed_passes(Executor const& executor, workspace& scratch, A const& a, Bound const& bound,
                       operand_gradients<T> const& rows, Targets& targets) {
    auto const& call = bound.call;
    auto const& q = call.query;
    auto const graph = a.mask.neighbor_list();
    auto const& key = in_memory<T>(call.key, scratch);
    auto const& value = in_memory<T>(call.value, scratch);
    zeros_for_tables const zeros{scratch.shared(), q.extent(3)};
    auto const spec =
        plan::lower_listed_gradient(a, [&](auto const& expression) { return with_elements(expression, zeros); });
    using query_element = std::remove_const_t<std::remove_pointer_t<decltype(q.data)>>;
    using d_element = std::remove_const_t<std::remove_pointer_t<decltype(bound.d_result.data)>>;
    using operands = listed_gradient_operands<T, query_element, std::remove_cvref_t<decltype(key)>,
                                              std::remove_cvref_t<decltype(value)>, d_element>;
    operands const x{q, key, value, bound.d_result, rows.query, rows.key, rows.value};
    bool const edges_differ = numbers_differ(graph, scratch.shared());
    targets.begin_tables(
        [&](auto const& each) {
            bool is_read = false;
            fovea::detail::for_each_array_with_gradient(
                a, [&](auto const& table) { is_read = is_read || fovea::names(each, table); });
            return is_read;
        },
        [&](auto const& each) {
            auto const& extents = each.of.extents;  // one element may stand for all positions
            auto const named = [&](auto const& table) { return fovea::names(each, table); };
            bool const single = std::find(extents.begin(), extents.end(), 1) != extents.end();
            bool by_query = !single, by_key = !single && !reads_named(spec.score.pointwise, named);
            fovea::detail::for_each_expression_of_weights(a, [&](auto const& e) {
                by_query = by_query && differs_by<q_idx_t>(e, x.queries(), edges_differ, named);
                by_key = by_key && differs_by<kv_idx_t>(e, x.keys(), false, named);
            });
            return by_query ? reached_in::one_share : by_key ? reached_in::one_share_of_keys : reached_in::any_share;
        });
    using lowered = std::remove_const_t<decltype(spec)>;
    using of = listed_gradient_call<T, Arch, lowered, operands, typename Targets::share_type>;
    listed_gradient<of>(spec, x, graph)
        .run(executor, scratch, targets.shares(std::max(x.queries(), x.keys())), targets);
}

/// run_listed_gradient: the gradients of a call with listed keys; false where it is not for these passes, also where an
/// array is both an operand and a table.
template <class T, class Arch, class Executor, class A, class Bound, class... Asked>
bool run_listed_gradient(Executor const& executor, workspace& scratch, A const& a, Bound const& bound,
                         Asked const&... asked) {
    auto const& call = bound.call;
    named_arrays<Asked...> named(asked...);
    fovea::detail::find_arrays(a, bound, named);
    bool takes = bound.d_lse.data == nullptr && takes_listed_gradient(call);
    auto const names_rows = [&](auto const& each, auto const& rows) {
        if constexpr (is_view<std::remove_cvref_t<decltype(rows)>>) return fovea::names<true>(each, rows);
        else return false;
    };
    fovea::detail::for_each_array_with_gradient(a, [&](auto const& table) {
        auto const look = [&](auto const& each) {
            if (fovea::names(each, table)
                && (names_rows(each, call.query) || names_rows(each, call.key) || names_rows(each, call.value)))
                takes = false;
        };
        (look(asked), ...);
    });
    if (!takes) return false;

    workspace::call const alone(scratch);
    scratch.prepare(executor.workers());
    pass_sink<T, Asked...> targets(scratch, asked...);
    auto const d_query = targets.rows(call.query), d_key = targets.rows(call.key), d_value = targets.rows(call.value);
    run_listed_passes<T, Arch>(executor, scratch, a, bound, {d_query, d_key, d_value}, targets);
    targets.write();
    return true;
}

}  // namespace fovea::FOVEA_SET::driver
