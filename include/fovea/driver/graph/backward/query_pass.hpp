// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient pass over queries: the backward rule of softmax, or of any normalizer, on the keys of one query.
#pragma once

#include <fovea/core/graph.hpp>
#include <fovea/driver/call/backward/row_backward.hpp>
#include <fovea/driver/graph/backward/gradient_layout.hpp>
#include <fovea/driver/graph/backward/listed_pass.hpp>

#include <algorithm>
#include <bit>

namespace fovea::FOVEA_SET::driver {

/// As listed_backward, of softmax. Where edges are not kept, three numbers of a row give its weights and their
/// gradients again:
///
///     l w = exp(s - m),   l ds = exp(s - m) ((dO / l) . v - D / l),   D = sum_k w (dO . v_k)
///
/// A pair of weight 0 has no gradient, whatever its value holds.
template <class Call>
class listed_softmax {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using vector = kernel::pack<T, Arch>;
    static constexpr index_t width = vector::lanes;

public:
    static constexpr index_t coordinates = 2;  // of a row, for the pass over the keys: m and D / l

    listed_softmax(typename Call::spec const&, kernel::head_lanes const& lanes, arena& memory, index_t)
        : lanes_(lanes),
          most_(memory.template take<T>(lanes.common_period(width))),
          mean_(memory.template take<T>(lanes.common_period(width))),
          reciprocal_(memory.template take<T>(lanes.common_period(width) + width)) {
        std::fill_n(reciprocal_, lanes.common_period(width) + width, T{0});
    }

    void apply(kernel::row_coordinates const& row, graph_view const& graph, index_t const*, T* weights, T* gradients,
               typename Call::tables const&) const {
        index_t const last = lanes_.pairs(std::ssize(graph.of(row.q_idx))), period = lanes_.common_period(width);
        auto const larger = [](auto const& a, auto const& b) FOVEA_LAMBDA { return max(a, b); };
        auto const sum_of = [&](vector const& x)
                                FOVEA_LAMBDA { return kernel::sum_over_groups<T, Arch>(x, lanes_.padded_heads); };
        for (index_t l = 0; l < period; l += width) {
            vector most(excluded<T>), sum(T{0}), mean(T{0});
            for (index_t p = l; p < last; p += period) most = max(most, vector::load(weights + p));
            most = kernel::over_groups<T, Arch>(most, lanes_.padded_heads, larger);
            most = select(most == vector(excluded<T>), vector(T{0}), most);
            for (index_t p = l; p < last; p += period) {
                auto const score = vector::load(weights + p);
                auto const weight = select(score == vector(excluded<T>), vector(T{0}), exp(score - most));
                weight.store(weights + p);
                sum = sum + weight;
                mean = mean + weighted(weight, vector::load(gradients + p));
            }
            sum = sum_of(sum);
            auto const reciprocal = select(sum == vector(T{0}), vector(T{0}), vector(T{1}) / sum);
            mean = sum_of(mean) * reciprocal;
            for (index_t p = l; p < last; p += period) {
                auto const weight = vector::load(weights + p) * reciprocal;
                if constexpr (Call::keeps_edges) weight.store(weights + p);
                weighted(weight, vector::load(gradients + p) - mean).store(gradients + p);
            }
            most.store(most_ + l);
            reciprocal.store(reciprocal_ + l);
            (mean * reciprocal).store(mean_ + l);
        }
    }

    /// Keeps the coordinates of the last row, (fact, head lanes), and dO / l, (head, column).
    template <class D>
    void keep(view<D const, 4> const& d_result, kernel::row_coordinates const& row, T* to, T* scaled) const {
        index_t const heads = lanes_.padded_heads, columns = d_result.extent(3);
        for (index_t l = 0; l < heads; l += width) {
            kernel::store_as<T, Arch>(vector::load(most_ + l), to + l, heads - l);
            kernel::store_as<T, Arch>(vector::load(mean_ + l), to + heads + l, heads - l);
        }
        if (kernel::joins_columns<T, Arch>(columns, d_result.stride(1), lanes_)) {
            int const shift = std::countr_zero(static_cast<unsigned>(columns));
            D const* const from = d_result.place(row.batch, index_t{0}, row.q_idx, index_t{0});
            for (index_t c = 0; c < lanes_.heads * columns; c += width) {
                auto const reciprocal = kernel::lane_groups_of<T, Arch>::permuted(
                    vector::load(reciprocal_ + (c >> shift)), kernel::lanes_shifted<T, Arch>(shift));
                (kernel::storage<D, T, Arch>::load(from + c) * reciprocal).store(scaled + c);
            }
            return;
        }
        for (index_t h = 0; h < lanes_.heads; ++h) {
            D const* const from = d_result.place(row.batch, h, row.q_idx, index_t{0});
            for (index_t c = 0; c < columns; c += width)
                kernel::store_as<T, Arch>(kernel::load_as<T, Arch>(from + c, columns - c) * vector(reciprocal_[h]),
                                          scaled + h * columns + c, columns - c);
        }
    }

private:
    FOVEA_INLINE static vector weighted(vector const& weight, vector const& x) {
        return select(weight == vector(T{0}), vector(T{0}), weight * x);
    }

    kernel::head_lanes const& lanes_;
    T *most_, *mean_, *reciprocal_;  // (period) m, D / l and 1 / l
};

/// The scores of the keys of one query become weights, and the gradients of these those of the scores: a row for each
/// head, one after the other. Numbers of pairs lie as (key, head lanes); lanes without a pair get 0.
template <class Call>
class listed_backward {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Tables = typename Call::tables;
    using normalize = std::remove_const_t<decltype(Call::spec::normalize)>;
    using reweight = std::remove_const_t<decltype(Call::spec::reweight)>;
    static constexpr index_t width = kernel::pack<T, Arch>::lanes;

public:
    listed_backward(typename Call::spec const& spec, kernel::head_lanes const& lanes, arena& memory, index_t longest)
        : lanes_(lanes),
          rule_(memory, spec.normalize, spec.reweight, round_up(longest, width)),
          scores_(memory.template take<T>(round_up(longest, width))),
          gradients_(memory.template take<T>(round_up(longest, width))),
          keys_(memory.template take<std::int32_t>(round_up(longest, width))) {}

    /// An expression may read the `numbers` of the edges, of which there is a vector more.
    void apply(kernel::row_coordinates coordinates, graph_view const& graph, index_t* numbers, T* weights, T* gradients,
               Tables const& tables) const {
        auto const listed = graph.of(coordinates.q_idx);
        index_t const n = std::ssize(listed), padded = round_up(n, width), pairs = lanes_.pairs(n);
        if constexpr (Call::numbers_edges) std::fill_n(numbers + n, width, numbers[n - 1]);
        coordinates.edges = numbers;
        std::copy(listed.begin(), listed.end(), keys_);
        std::fill(keys_ + n, keys_ + padded, listed.back());
        for (index_t h = 0; h < lanes_.heads; ++h) {
            for (index_t e = 0; e < n; ++e) {
                scores_[e] = weights[lanes_.pairs(e) + h];
                gradients_[e] = gradients[lanes_.pairs(e) + h];
            }
            std::fill(scores_ + n, scores_ + padded, excluded<T>);
            std::fill(gradients_ + n, gradients_ + padded, T{0});
            coordinates.head = h;
            rule_.apply(coordinates, {scores_, padded / width, {keys_}}, gradients_, tables, [](T const*, T*) {});
            for (index_t e = 0; e < n; ++e) {
                weights[lanes_.pairs(e) + h] = scores_[e];
                gradients[lanes_.pairs(e) + h] = gradients_[e];
            }
        }
        for (index_t e = 0; e < n; ++e)
            for (index_t h = lanes_.heads; h < lanes_.padded_heads; ++h)
                weights[lanes_.pairs(e) + h] = gradients[lanes_.pairs(e) + h] = T{0};
        std::fill(weights + pairs, weights + round_up(pairs, width), T{0});
        std::fill(gradients + pairs, gradients + round_up(pairs, width), T{0});
    }

private:
    kernel::head_lanes const& lanes_;
    row_backward<T, Arch, normalize, reweight, Tables, kernel::listed_keys> rule_;
    T *scores_, *gradients_;  // of one head
    std::int32_t* keys_;      // the last one repeated
};

/// Scores and weights of the keys of each query, and their gradients, which go to the query, to tables and to terms of
/// queries.
template <class Call>
class query_pass : listed_pass<Call> {
    using base = listed_pass<Call>;
    using base::layout, base::specification, base::width, base::operands;
    using typename base::Arch, typename base::Operands, typename base::places, typename base::scratch_type,
        typename base::Spec, typename base::T, typename base::vector;
    using rule_type = std::conditional_t<Call::by_rule, listed_backward<Call>, listed_softmax<Call>>;

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
        scratch_type const here(layout.lanes, memory, most);
        rule_type const rule(specification, layout.lanes, memory, most);
        for (index_t b = 0; b < operands.batches(); ++b) {
            gradient_pairs<kernel::side::query, Call> pairs(specification, operands, layout, {tables, tables}, b);
            kept_numbers<T> const left = kept(b);
            position_prefetch const queries(operands.query, b, operands.features());
            position_prefetch const d_queries(operands.d_query, b, operands.features());
            position_prefetch const d_results(operands.d_result, b, operands.value_features());
            for (index_t q = first; q < last; ++q) {
                if (index_t const next = q + base::rows_ahead; base::prefetches && next < last) {
                    queries.prefetch(next), d_queries.prefetch(next), d_results.prefetch(next);
                    if (!Call::keeps_edges && left.first != nullptr) base::prefetch(left, next);
                }
                query(pairs, here, rule, b, q, tables, left);
            }
        }
    }

private:
    template <class Pairs>
    void query(Pairs& pairs, scratch_type const& here, rule_type const& rule, index_t b, index_t q,
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
        if (kept.first != nullptr)
            keep(rule, here, row, n, Call::keeps_edges ? kept.at(first_edge) : kept.at(q), kept.size);
        pairs.add_planes(here.parts, here.pairs, to);
        if constexpr (places::rows > 0) {
            base::join_lanes(here, places::rows);
            pairs.add_terms(here.sums, to);
        }
    }

    /// For the pass over the keys: the weight of each edge and the gradients of the parts that a key has, or the terms
    /// of the query and what the rule says of its row, which give these again.
    void keep(rule_type const& rule, scratch_type const& here, kernel::row_coordinates const& row, index_t n, T* to,
              index_t size) const {
        index_t const heads = layout.lanes.padded_heads;
        if constexpr (Call::keeps_edges) {
            auto const copy = [&](T const* numbers, index_t place) {
                for (index_t e = 0; e < n; ++e)
                    for (index_t h = 0; h < heads; h += width)
                        kernel::store_as<T, Arch>(vector::load(numbers + e * heads + h),
                                                  to + e * size + place * heads + h, heads - h);
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
