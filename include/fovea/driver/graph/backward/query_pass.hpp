// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass over the queries of a gradient over listed keys.
#pragma once

#include <fovea/driver/graph/backward/listed_pass.hpp>
#include <fovea/driver/graph/backward/listed_rule.hpp>
#include <fovea/driver/graph/backward/listed_softmax.hpp>

namespace fovea::FOVEA_SET::driver {

/// Scores and weights of the keys of each query, and their gradients, which go to the query, to tables and to terms of
/// queries.
template <class Call>
class query_pass : listed_pass<Call> {
    using base = listed_pass<Call>;
    using base::layout, base::specification, base::width, base::operands;
    using typename base::Arch, typename base::Operands, typename base::places, typename base::room, typename base::Spec,
        typename base::T, typename base::vector;
    using rule_type = std::conditional_t<Call::by_rule, listed_rule<Call>, listed_softmax<Call>>;

public:
    /// The terms of both sides: (batch, term, position, head lanes).
    query_pass(Spec const& spec, Operands const& x, graph_view graph, T const* query_terms, T const* key_terms)
        : base(spec, x,
               places::keys * kernel::head_lanes(x.query.extent(1)).padded_heads * index_t{sizeof(T)}
                   + position_bytes(x.value) + (places::planes > 0 ? position_bytes(x.key) : 0),
               x.keys()),
          graph_(graph),
          query_terms_(query_terms),
          key_terms_(key_terms) {}

    /// Some queries of each batch element; kept(batch) is where numbers are left for the pass over the keys.
    template <class Kept>
    void run(arena& memory, index_t first, index_t last, typename Call::tables const& tables, Kept const& kept) const {
        index_t const most = base::longest([&](index_t q) { return graph_.of(q); }, first, last);
        room const here(layout.lanes, memory, most);
        rule_type const rule(specification, layout.lanes, memory, most);
        for (index_t b = 0; b < operands.batches(); ++b) {
            gradient_pairs<kernel::side::query, Call> pairs(specification, operands, layout, tables, b);
            kept_numbers<T> const left = kept(b);
            position_prefetch const queries(operands.query, b, operands.features());
            position_prefetch const d_queries(operands.d_query, b, operands.features());
            position_prefetch const d_results(operands.d_result, b, operands.value_features());
            for (index_t q = first; q < last; ++q) {
                if (index_t const next = q + base::rows_ahead; base::prefetches && next < last) {
                    queries.prefetch(next), d_queries.prefetch(next), d_results.prefetch(next);
                    if constexpr (!Call::by_rule) base::prefetch(left, next);
                }
                query(pairs, here, rule, b, q, tables, left);
            }
        }
    }

private:
    template <class Pairs>
    void query(Pairs& pairs, room const& here, rule_type const& rule, index_t b, index_t q,
               typename Call::tables const& tables, kept_numbers<T> const& kept) const {
        auto const& lanes = layout.lanes;
        auto const listed = graph_.of(q);
        auto const to = base::targets(operands.d_query, b, q, key_head_of(1), true);
        index_t const n = std::ssize(listed), first_edge = graph_.offsets[static_cast<std::size_t>(q)];
        if (n == 0) return;
        if constexpr (Call::numbers_edges)
            for (index_t e = 0; e < n; ++e) here.edges[e] = graph_.number(first_edge + e);
        pairs.begin(q, listed, here.edges);
        index_t const of_queries = term_stride<T, Arch>(lanes, operands.queries()),
                      of_keys = term_stride<T, Arch>(lanes, operands.keys());
        T const* const keys = key_terms_ + b * places::keys * of_keys;
        base::repeat(query_terms_ + b * places::rows * of_queries, of_queries, places::rows, q, here);
        vector parts[places::all + 1];
        for (index_t pair = 0; pair < lanes.pairs(n); pair += width) {
            base::for_edges_ahead(pair, n, first_edge, graph_.edges(), [&](index_t e) FOVEA_LAMBDA {
                index_t const key = graph_.keys[static_cast<std::size_t>(e)];
                for (index_t t = 0; t < places::keys; ++t) __builtin_prefetch(keys + t * of_keys + lanes.pairs(key));
                pairs.prefetch_scores(key);
                pairs.prefetch_values(key);
            });
            pairs.compare(parts, pair);
            base::take_terms(parts + places::planes, places::rows, here, pair);
            for (index_t t = 0; t < places::keys; ++t)
                parts[places::planes + places::rows + t] = base::groups::gathered(
                    [&, from = keys + t * of_keys + lanes.head(pair)](index_t i) FOVEA_LAMBDA {
                        return from + lanes.pairs(listed.data()[std::min(lanes.key(pair) + i, n - 1)]);
                    },
                    lanes.padded_heads);
            pairs.scores(parts, pair).store(here.weights + pair);
            pairs.weight_gradients(pair).store(here.gradients + pair);
            for (index_t i = 0; i < places::all; ++i) parts[i].store(here.parts + i * here.pairs + pair);
        }
        auto const row = facts_of(operands, b, 0, q);
        rule.apply(row, graph_, here.edges, here.weights, here.gradients, tables);
        std::fill_n(here.sums, places::rows * here.period, T{0});
        for (index_t pair = 0; pair < lanes.pairs(n); pair += width) {
            for (index_t i = 0; i < places::all; ++i) parts[i] = vector::load(here.parts + i * here.pairs + pair);
            vector amounts[places::all + 1];
            pairs.part_gradients(amounts, parts, vector::load(here.gradients + pair), pair);
            for (index_t i = 0; i < places::all; ++i) amounts[i].store(here.parts + i * here.pairs + pair);
            base::add_up(here, amounts + places::planes, places::rows, pair);
        }
        keep(rule, here, row, n, Call::by_rule ? kept.at(first_edge) : kept.at(q), kept.size);
        pairs.add_planes(here.parts, here.pairs, to);
        if constexpr (places::rows > 0) {
            base::join_lanes(here, places::rows);
            pairs.add_terms(here.sums, to);
        }
    }

    /// For the pass over the keys: of softmax the terms of the query and what the rule says of its row, of any other
    /// normalizer the weight of each edge and the gradients of the parts that a key has.
    void keep(rule_type const& rule, room const& here, kernel::row_facts const& row, index_t n, T* to,
              index_t size) const {
        index_t const heads = layout.lanes.padded_heads;
        if constexpr (Call::by_rule) {
            auto const copy = [&](T const* numbers, index_t place) {
                for (index_t e = 0; e < n; ++e) std::copy_n(numbers + e * heads, heads, to + e * size + place * heads);
            };
            copy(here.weights, 0);
            for (index_t i = 0; i < places::planes; ++i) copy(here.parts + i * here.pairs, 1 + i);
            for (index_t t = 0; t < places::keys; ++t)
                copy(here.parts + (places::planes + places::rows + t) * here.pairs, 1 + places::planes + t);
        } else {
            for (index_t t = 0; t < places::rows; ++t) std::copy_n(here.terms + t * here.period, heads, to + t * heads);
            rule.keep(operands.d_result, row, to + places::rows * heads,
                      to + size - operands.d_result.extent(1) * operands.value_features());
        }
    }

    graph_view graph_;
    T const *query_terms_, *key_terms_;
};

}  // namespace fovea::FOVEA_SET::driver
