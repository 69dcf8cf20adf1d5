// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient pass over keys, by the list turned around: for each key the queries that see it.
#pragma once

#include <fovea/core/graph.hpp>
#include <fovea/driver/graph/backward/listed_pass.hpp>
#include <fovea/driver/run/workspace.hpp>

#include <algorithm>
#include <utility>

namespace fovea::FOVEA_SET::driver {

/// The queries of each key, in the order of the list.
struct transposed_list {
    index_t const* offsets;       // (keys + 1)
    std::int32_t const* queries;  // (edges)
    index_t const* numbers;       // (edges) of the edges, where they are asked for
    index_t const* places;        // (edges) of the edges in the list that is turned around, where they are asked for

    std::span<std::int32_t const> of(index_t key) const {
        return {queries + offsets[key], static_cast<std::size_t>(offsets[key + 1] - offsets[key])};
    }
};

/// Sorts edges by their keys, by counting.
inline transposed_list transposed(graph_view const& graph, index_t keys, bool numbered, bool placed, arena& memory) {
    auto* const offsets = memory.take<index_t>(keys + 1);
    auto* const queries = memory.take<std::int32_t>(std::max<index_t>(graph.edges(), 1));
    auto* const numbers = memory.take<index_t>(numbered ? graph.edges() : 0);
    auto* const places = memory.take<index_t>(placed ? graph.edges() : 0);
    std::fill_n(offsets, keys + 1, index_t{0});
    for (auto const key : graph.keys) ++offsets[key];
    index_t before = 0;
    for (index_t k = 0; k <= keys; ++k) before += std::exchange(offsets[k], before);
    index_t edge = 0;
    for (index_t q = 0; q < graph.queries(); ++q)
        for (auto const key : graph.of(q)) {
            index_t const place = offsets[key]++;
            queries[place] = static_cast<std::int32_t>(q);
            if (numbered) numbers[place] = graph.number(edge);
            if (placed) places[place] = edge;
            ++edge;
        }
    std::copy_backward(offsets, offsets + keys, offsets + keys + 1);  // each was moved to where the next one began
    offsets[0] = 0;
    return {offsets, queries, numbers, places};
}

/// The gradients of each key and its value, from the queries that see it, edge by edge of the list turned around. The
/// weight of an edge and the gradients of its parts have been kept, or those of softmax are computed again.
template <class Call>
class key_pass : listed_pass<Call> {
    using base = listed_pass<Call>;
    using base::layout, base::specification, base::width, base::operands;
    using typename base::Arch, typename base::Operands, typename base::places, typename base::scratch_type,
        typename base::Spec, typename base::T, typename base::vector;
    static constexpr bool keeps_edges = Call::keeps_edges;

public:
    /// The terms of keys: (batch, term, position, head lanes). `kept_size` numbers have been kept at each place.
    key_pass(Spec const& spec, Operands const& x, transposed_list const& list, T const* terms, index_t kept_size)
        : base(spec, x,
               kept_size * index_t{sizeof(T)} + (keeps_edges ? position_bytes(x.d_result) : 0)
                   + (places::planes > 0 ? position_bytes(x.query) : 0),
               x.queries()),
          list_(list),
          terms_(terms) {}

    /// Some keys of each batch element; kept(batch) is what the pass over the queries has left.
    template <class Kept>
    void run(arena& memory, index_t first, index_t last, pass_tables<typename Call::tables> const& tables,
             Kept const& kept) const {
        scratch_type const here(layout.lanes, memory,
                                base::longest([&](index_t k) { return list_.of(k); }, first, last));
        for (index_t b = 0; b < operands.batches(); ++b) {
            gradient_pairs<kernel::side::key, Call> pairs(specification, operands, layout, tables, b);
            kept_numbers<T> const left = kept(b);
            position_prefetch const keys(operands.key, b, operands.key_features());
            position_prefetch const values(operands.value, b, operands.value_features());
            position_prefetch const d_keys(operands.d_key, b, operands.key_features());
            position_prefetch const d_values(operands.d_value, b, operands.value_features());
            for (index_t k = first; k < last; ++k) {
                if (index_t const next = k + base::rows_ahead; base::prefetches && next < last)
                    keys.prefetch(next), values.prefetch(next), d_keys.prefetch(next), d_values.prefetch(next);
                key(pairs, here, b, k, left);
            }
        }
    }

private:
    template <class Pairs>
    void key(Pairs& pairs, scratch_type const& here, index_t b, index_t k, kept_numbers<T> const& kept) const {
        auto const& lanes = layout.lanes;
        auto const listed = list_.of(k);
        index_t const n = std::ssize(listed), first_edge = list_.offsets[k];
        bool const keys_begin = operands.d_key.data != operands.d_query.data,
                   values_begin =
                       operands.d_value.data != operands.d_query.data && operands.d_value.data != operands.d_key.data;
        if (n == 0) {
            base::targets(operands.d_key, b, k, key_head_, keys_begin);
            base::targets(operands.d_value, b, k, key_head_, values_begin);
            return;
        }
        pairs.begin(k, listed, list_.numbers + (Call::numbers_edges ? first_edge : 0));
        index_t const of_keys = term_stride<T, Arch>(lanes, operands.keys());
        if constexpr (!keeps_edges) base::repeat(terms_ + b * places::keys * of_keys, of_keys, places::keys, k, here);
        std::fill_n(here.sums, places::keys * here.period, T{0});
        for (index_t pair = 0; pair < lanes.pairs(n); pair += width) {
            base::for_edges_ahead(pair, n, first_edge, list_.offsets[operands.keys()], [&](index_t e) FOVEA_LAMBDA {
                base::prefetch(kept, place(e));
                pairs.prefetch_scores(list_.queries[e]);
                if (keeps_edges && operands.d_value.data != nullptr) pairs.prefetch_values(list_.queries[e]);
            });
            c_array<T const*, width> from;  // what has been kept for the pairs of this vector, from their heads on
            for (index_t i = 0; i <= lanes.key(width - 1); ++i)
                from[i] = kept.at(place(first_edge + std::min(lanes.key(pair) + i, n - 1))) + lanes.head(pair);
            auto const number = [&](index_t i) FOVEA_LAMBDA {
                return base::groups::gathered([&](index_t j) FOVEA_LAMBDA { return from[j] + i * lanes.padded_heads; },
                                              lanes.padded_heads);
            };
            if constexpr (keeps_edges) take_kept(here, number, lanes.pairs(n), pair);
            else score_again(pairs, here, number, pair);
        }
        if constexpr (!keeps_edges)
            for (index_t pair = 0; pair < lanes.pairs(n); pair += width) weigh_again(pairs, here, pair);
        auto const to = base::targets(operands.d_key, b, k, key_head_, keys_begin);
        pairs.add_planes(here.parts, here.pairs, to);
        if constexpr (places::keys > 0) {
            base::join_lanes(here, places::keys);
            pairs.add_terms(here.sums, to);
        }
        pairs.add_values(here.weights, base::targets(operands.d_value, b, k, key_head_, values_begin));
    }

    /// The weights of a vector of `pairs`, and the gradients of what a key has of its parts; 0 where there is no pair.
    template <class Number>
    FOVEA_INLINE void take_kept(scratch_type const& here, Number const& number, index_t pairs, index_t pair) const {
        auto const present = vector::iota() < vector(pairs - pair);
        auto const kept = [&](index_t i) FOVEA_LAMBDA { return select(present, number(i), vector(T{0})); };
        kept(0).store(here.weights + pair);
        for (index_t i = 0; i < places::planes; ++i) kept(1 + i).store(here.parts + i * here.pairs + pair);
        vector of_keys[places::keys + 1];
        for (index_t t = 0; t < places::keys; ++t) of_keys[t] = kept(1 + places::planes + t);
        base::add_up(here, of_keys, places::keys, pair);
    }
    /// The parts of a vector of pairs, s - m and (dO . v - D) / l. What follows is a loop of its own, so that short
    /// loops overlap what waits for memory here and for exponentials there.
    template <class Pairs, class Number>
    FOVEA_INLINE void score_again(Pairs const& pairs, scratch_type const& here, Number const& number,
                                  index_t pair) const {
        vector parts[places::all + 1];
        pairs.compare(parts, pair);
        for (index_t t = 0; t < places::rows; ++t) parts[places::planes + t] = number(t);
        base::take_terms(parts + places::planes + places::rows, places::keys, here, pair);
        for (index_t i = 0; i < places::all; ++i) parts[i].store(here.parts + i * here.pairs + pair);
        auto const score = pairs.scores(parts, pair);
        select(score == vector(excluded<T>), score, score - number(places::rows)).store(here.weights + pair);
        (pairs.weight_gradients(pair) - number(places::rows + 1)).store(here.gradients + pair);
    }
    /// Of these l w, and the gradients of the parts.
    template <class Pairs>
    FOVEA_INLINE void weigh_again(Pairs const& pairs, scratch_type const& here, index_t pair) const {
        vector parts[places::all + 1], amounts[places::all + 1];
        for (index_t i = 0; i < places::all; ++i) parts[i] = vector::load(here.parts + i * here.pairs + pair);
        auto const difference = vector::load(here.weights + pair);
        auto const weight = select(difference == vector(excluded<T>), vector(T{0}), exp(difference));
        weight.store(here.weights + pair);
        auto const d_score = select(weight == vector(T{0}), vector(T{0}), weight * vector::load(here.gradients + pair));
        pairs.part_gradients(amounts, parts, d_score, pair);
        for (index_t i = 0; i < places::planes; ++i) amounts[i].store(here.parts + i * here.pairs + pair);
        base::add_up(here, amounts + places::planes + places::rows, places::keys, pair);
    }

    /// Where the numbers of an edge of the list turned around have been kept.
    FOVEA_INLINE index_t place(index_t edge) const {
        if constexpr (keeps_edges) return list_.places[edge];
        else return list_.queries[edge];
    }

    transposed_list list_;
    T const* terms_;
    key_head_of key_head_{operands.group()};
};

}  // namespace fovea::FOVEA_SET::driver
