// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient of weights of listed keys: one pass over the queries, and one over the keys.
#pragma once

#include <fovea/driver/graph/backward/key_pass.hpp>
#include <fovea/driver/graph/backward/query_pass.hpp>
#include <fovea/driver/run/workspace.hpp>

namespace fovea::FOVEA_SET::driver {

/// The gradient of softmax(S) V over listed keys, without memory for each edge, and that of any other normalizer:
///
///     w = exp(s - m) / l,   D = sum_k w (dO . v_k),   ds = w (dO . v - D)
///
/// The pass over the queries finds m, l and D of each row, and adds up what goes to queries, to tables and to terms of
/// queries. The pass over the keys computes the weights again, edge by edge of the list turned around, and adds up what
/// goes to keys, to values and to terms of keys. All that it reads of a query but its features stands at one place,
/// since queries come in no order there. Each row of a gradient is added up in one place, in the order of its edges;
/// gradients of tables in shares of the positions, whose number does not depend on the threads.
template <class Call>
class listed_gradient {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using places = typename Call::places;
    static constexpr bool by_rule = Call::by_rule;

public:
    listed_gradient(typename Call::spec const& spec, typename Call::operands const& x, graph_view graph)
        : spec_(spec), x_(x), graph_(graph) {}

    /// `shares` of the positions; share s adds to the tables `tables(s)`.
    template <class Executor, class TablesOf>
    void run(Executor const& executor, workspace& scratch, index_t shares, TablesOf const& tables) const {
        auto& shared = scratch.shared();
        auto const take_terms = [&](index_t terms, index_t positions) {
            return shared.template take<T>(x_.batches() * terms * term_stride<T, Arch>(lanes_, positions));
        };
        auto const list = transposed(graph_, x_.keys(), Call::numbers_edges, by_rule, shared);
        T *const of_queries = take_terms(places::rows, x_.queries()), *const of_keys =
                                                                          take_terms(places::keys, x_.keys());
        index_t const columns = x_.value_features(), all_columns = lanes_.heads * columns, size = kept_size(),
                      of_batch = size * (by_rule ? graph_.edges() : x_.queries());
        T* const first = shared.template take<T>(x_.batches() * of_batch + kernel::pack<T, Arch>::lanes);
        auto const kept = [&](index_t b) { return kept_numbers<T>{first + b * of_batch, size}; };
        compute_side_terms<kernel::side::query, T, Arch>(executor, x_, lanes_, spec_.score.parts.rows, of_queries);
        compute_side_terms<kernel::side::key, T, Arch>(executor, x_, lanes_, spec_.score.parts.keys, of_keys);

        query_pass<Call> const queries(spec_, x_, graph_, of_queries, of_keys);
        in_shares(executor, scratch, shares, x_.queries(),
                  [&](arena& memory, index_t share, index_t from, index_t end) {
                      queries.run(memory, from, end, tables(share), kept);
                  });
        auto const over_keys = [&](auto const& x) {
            key_pass<with_operands<std::remove_cvref_t<decltype(x)>>> const keys(spec_, x, list, of_keys, size);
            in_shares(executor, scratch, shares, x_.keys(),
                      [&](arena& memory, index_t share, index_t from, index_t end) {
                          keys.run(memory, from, end, tables(share), kept);
                      });
        };
        if constexpr (by_rule) over_keys(x_);
        else
            over_keys(x_.with_results(
                view<T const, 4>(first + size - all_columns, x_.d_result.extents, {of_batch, columns, size, 1})));
    }

private:
    template <class Operands>
    using with_operands = listed_gradient_call<T, Arch, typename Call::spec, Operands, typename Call::tables>;

    /// How many numbers the first pass leaves to the second: of softmax for each query, whole cache lines with dO / l
    /// at their end, of any other normalizer for each edge.
    index_t kept_size() const {
        if constexpr (by_rule) return (1 + places::planes + places::keys) * lanes_.padded_heads;
        else
            return round_up(
                (places::rows + listed_softmax<Call>::facts) * lanes_.padded_heads + lanes_.heads * x_.value_features(),
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

}  // namespace fovea::FOVEA_SET::driver
