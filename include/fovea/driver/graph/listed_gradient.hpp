// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient of softmax over listed keys: one pass over the queries, and one over the keys.
#pragma once

#include <fovea/driver/graph/gradient_pairs.hpp>
#include <fovea/driver/graph/listed_rule.hpp>
#include <fovea/driver/graph/transposed_list.hpp>
#include <fovea/driver/workspace.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The gradient of softmax(S) V over listed keys, without memory for each edge:
///
///     w = exp(s - m) / l,   D = sum_k w (dO . v_k),   ds = w (dO . v - D)
///
/// The pass over the queries finds m, l and D of each row, and adds up what goes to queries, to tables and to terms of
/// queries. The pass over the keys computes the weights again, edge by edge of the list turned around, and adds up what
/// goes to keys, to values and to terms of keys. Each row of a gradient is added up in one place, in the order of its
/// edges; gradients of tables in shares of the positions, whose number does not depend on the threads.
template <class Call>
class listed_gradient {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Spec = typename Call::spec;
    using Operands = typename Call::operands;
    using Tables = typename Call::tables;
    using places = typename Call::places;
    using vector = kernel::pack<T, Arch>;
    using groups = kernel::lane_groups_of<T, Arch>;
    static constexpr index_t width = vector::lanes;
    static constexpr bool by_rule = Call::by_rule;
    static constexpr index_t facts = places::rows + (by_rule ? 0 : 3);  // of a row: its terms, m, 1 / l, D
    static constexpr index_t cached_bytes = 1 << 22, long_rows = 2048;  // as in the traversal
    static constexpr index_t ahead = 24;  // edges between prefetching the rows of a pair and using them

public:
    listed_gradient(Spec const& spec, Operands const& x, graph_view graph) : spec_(spec), x_(x), graph_(graph) {
        index_t const bytes =
            record() * index_t{sizeof(T)} + position_bytes(x.value) + (places::planes > 0 ? position_bytes(x.key) : 0);
        prefetches_ = bytes < long_rows && x.keys() * bytes > cached_bytes;
    }

    /// `shares` of the positions; share s adds to the tables `tables(s)`.
    template <class Executor, class TablesOf>
    void run(Executor const& executor, workspace& scratch, index_t shares, TablesOf const& tables) const {
        auto& shared = scratch.shared();
        auto const list = transposed(graph_, x_.keys(), Call::numbers_edges, by_rule, shared);
        T* const rows = shared.template take<T>(x_.batches() * x_.queries() * record() + width);
        T* const keys = shared.template take<T>(x_.batches() * places::keys * key_stride());
        index_t const of_edges = by_rule ? layout_.lanes.pairs(graph_.edges()) : 0;
        T* const edges = shared.template take<T>(2 * x_.batches() * of_edges + width);
        auto const edges_of = [&](index_t b) {
            return edge_numbers<T, Arch>{edges + 2 * b * of_edges, edges + (2 * b + 1) * of_edges};
        };
        {
            T* const terms = shared.template take<T>(x_.batches() * places::rows * row_stride());
            compute_side_terms<kernel::side::key, T, Arch>(executor, x_, layout_.lanes, spec_.score.parts.keys, keys);
            compute_side_terms<kernel::side::query, T, Arch>(executor, x_, layout_.lanes, spec_.score.parts.rows,
                                                             terms);
            in_shares(executor, scratch, shares, x_.queries(),
                      [&](arena& memory, index_t share, index_t first, index_t last) {
                          index_t longest = 1;
                          for (index_t q = first; q < last; ++q) longest = std::max(longest, std::ssize(graph_.of(q)));
                          room const here(*this, memory, longest);
                          auto const rule = rule_of(memory, longest);
                          for (index_t b = 0; b < x_.batches(); ++b) {
                              gradient_pairs<kernel::side::query, Call> pairs(spec_, x_, layout_, tables(share), b);
                              auto const differentiate = [&](index_t q) {
                                  if constexpr (by_rule)
                                      rule.apply(facts_of(x_, b, 0, q), graph_, here.edges, here.weights,
                                                 here.gradients, edges_of(b), tables(share));
                                  else differentiate_softmax(here, std::ssize(graph_.of(q)));
                              };
                              for (index_t q = first; q < last; ++q)
                                  query(pairs, here, differentiate, b, q, terms + b * places::rows * row_stride(),
                                        keys + b * places::keys * key_stride(),
                                        rows + (b * x_.queries() + q) * record());
                          }
                      });
        }
        in_shares(executor, scratch, shares, x_.keys(), [&](arena& memory, index_t share, index_t first, index_t last) {
            index_t longest = 1;
            for (index_t k = first; k < last; ++k) longest = std::max(longest, std::ssize(list.of(k)));
            room const here(*this, memory, longest);
            for (index_t b = 0; b < x_.batches(); ++b) {
                gradient_pairs<kernel::side::key, Call> pairs(spec_, x_, layout_, tables(share), b);
                for (index_t k = first; k < last; ++k)
                    key(pairs, here, b, k, list, edges_of(b), keys + b * places::keys * key_stride(),
                        rows + b * x_.queries() * record());
            }
        });
    }

private:
    /// The memory of one share.
    struct room {
        index_t pairs, period;
        T* weights;    // (pairs)
        T* gradients;  // (pairs) of weights, then of scores
        T* parts;      // (parts, pairs): their values, then their gradients
        T* terms;      // (row terms, period) of one query
        T* sums;       // (terms of one side, period)
        T* facts;      // (m, 1 / l, D; period)
        index_t* edges;

        room(listed_gradient const& of, arena& memory, index_t longest)
            : pairs(round_up(of.layout_.lanes.pairs(longest), width) + width),
              period(of.layout_.lanes.common_period(width)) {
            weights = memory.template take<T>(pairs);
            gradients = memory.template take<T>(pairs);
            parts = memory.template take<T>(places::all * pairs);
            terms = memory.template take<T>((places::rows + 1) * period);
            sums = memory.template take<T>((places::rows + places::keys + 1) * period);
            facts = memory.template take<T>(3 * period);
            edges = memory.template take<index_t>(longest + width);
            std::fill_n(weights, pairs, T{0});
            std::fill_n(gradients, pairs, T{0});
            std::fill_n(parts, places::all * pairs, T{0});
        }
    };

    index_t record() const { return facts * layout_.lanes.padded_heads; }
    index_t row_stride() const { return term_stride<T, Arch>(layout_.lanes, x_.queries()); }
    index_t key_stride() const { return term_stride<T, Arch>(layout_.lanes, x_.keys()); }

    template <class Executor, class Body>
    void in_shares(Executor const& executor, workspace& scratch, index_t shares, index_t n, Body const& body) const {
        executor.run(shares, [&](index_t share, index_t worker) {
            auto& memory = scratch.worker(worker);
            memory.clear();
            body(memory, share, share * n / shares, (share + 1) * n / shares);
        });
    }

    /// One query: its weights, the facts of its row, and what its pairs give to it.
    template <class Pairs, class Differentiate>
    void query(Pairs& pairs, room const& here, Differentiate const& differentiate, index_t b, index_t q, T const* terms,
               T const* keys, T* record) const {
        auto const& lanes = layout_.lanes;
        auto const listed = graph_.of(q);
        auto const to = targets(x_.d_query, b, q, key_head_of(1), true);
        index_t const n = std::ssize(listed), first_edge = graph_.offsets[static_cast<std::size_t>(q)];
        if (n == 0) return;
        if constexpr (Call::numbers_edges)
            for (index_t e = 0; e < n; ++e) here.edges[e] = graph_.number(first_edge + e);
        pairs.begin(q, listed, here.edges);
        for (index_t t = 0; t < places::rows; ++t) {
            T const* const from = terms + t * row_stride() + lanes.pairs(q);
            repeat(from, here.terms + t * here.period, here.period);
            copy_heads(here.terms + t * here.period, record + t * lanes.padded_heads);
        }
        vector parts[places::all + 1];
        for (index_t pair = 0; pair < lanes.pairs(n); pair += width) {
            for_edges_ahead(pair, n, first_edge, [&](index_t e) FOVEA_LAMBDA {
                index_t const key = graph_.keys[static_cast<std::size_t>(e)];
                for (index_t t = 0; t < places::keys; ++t)
                    __builtin_prefetch(keys + t * key_stride() + lanes.pairs(key));
                pairs.prefetch(key);
            });
            pairs.compare(parts, pair);
            take_rows(parts, here, pair);
            for (index_t t = 0; t < places::keys; ++t) {
                T const* const from = keys + t * key_stride() + lanes.head(pair);
                parts[places::planes + places::rows + t] = gathered(from, 1, listed, pair);
            }
            pairs.scores(parts, pair).store(here.weights + pair);
            pairs.weight_gradients(pair).store(here.gradients + pair);
            for (index_t i = 0; i < places::all; ++i) parts[i].store(here.parts + i * here.pairs + pair);
        }
        differentiate(q);
        for (index_t i = 0; i < facts - places::rows; ++i)
            copy_heads(here.facts + i * here.period, record + (places::rows + i) * lanes.padded_heads);
        std::fill_n(here.sums, places::rows * here.period, T{0});
        for (index_t pair = 0; pair < lanes.pairs(n); pair += width) {
            for (index_t i = 0; i < places::all; ++i) parts[i] = vector::load(here.parts + i * here.pairs + pair);
            take_rows(parts, here, pair);
            vector amounts[places::all + 1];
            pairs.part_gradients(amounts, parts, vector::load(here.gradients + pair), pair);
            for (index_t i = 0; i < places::planes; ++i) amounts[i].store(here.parts + i * here.pairs + pair);
            add_up(here, amounts + places::planes, places::rows, pair);
        }
        pairs.add_planes(here.parts, here.pairs, to);
        if constexpr (places::rows > 0) {
            join_lanes(here, places::rows);
            pairs.add_terms(here.sums, to);
        }
    }

    /// One key: the weights of its pairs again, and what they give to it and to its value.
    template <class Pairs>
    void key(Pairs& pairs, room const& here, index_t b, index_t k, transposed_list const& list,
             edge_numbers<T, Arch> const& edges, T const* keys, T const* records) const {
        auto const& lanes = layout_.lanes;
        auto const listed = list.of(k);
        index_t const n = std::ssize(listed);
        bool const keys_begin = x_.d_key.data != x_.d_query.data,
                   values_begin = x_.d_value.data != x_.d_query.data && x_.d_value.data != x_.d_key.data;
        if (n == 0) {
            targets(x_.d_key, b, k, key_head_, keys_begin);
            targets(x_.d_value, b, k, key_head_, values_begin);
            return;
        }
        pairs.begin(k, listed, list.numbers + (Call::numbers_edges ? list.offsets[k] : 0));
        for (index_t t = 0; t < places::keys; ++t)
            repeat(keys + t * key_stride() + lanes.pairs(k), here.terms + t * here.period, here.period);
        std::fill_n(here.sums, places::keys * here.period, T{0});
        index_t const of_row = record() / lanes.padded_heads;
        for (index_t pair = 0; pair < lanes.pairs(n); pair += width) {
            for_edges_ahead(pair, n, list.offsets[k], [&](index_t e) FOVEA_LAMBDA {
                index_t const query = list.queries[e];
                T const* const row = records + query * record();
                for (index_t c = 0; c < record(); c += kernel::cache_line / index_t{sizeof(T)})
                    __builtin_prefetch(row + c);
                pairs.prefetch(query);
            });
            vector parts[places::all + 1], amounts[places::all + 1], row[std::size_t{facts + 1}];
            pairs.compare(parts, pair);
            for (index_t t = 0; t < facts; ++t)
                row[t] = gathered(records + t * lanes.padded_heads + lanes.head(pair), of_row, listed, pair);
            for (index_t t = 0; t < places::rows; ++t) parts[places::planes + t] = row[t];
            for (index_t t = 0; t < places::keys; ++t)
                parts[places::planes + places::rows + t] =
                    vector::load(here.terms + t * here.period + (pair & (here.period - 1)));
            vector weight, d_score;
            if constexpr (by_rule) {
                std::span const at(list.places + list.offsets[k], listed.size());
                weight = edges.gathered(edges.weights, at, lanes, pair);
                d_score = edges.gathered(edges.gradients, at, lanes, pair);
            } else {
                auto const score = pairs.scores(parts, pair);
                weight = select(score == vector(excluded<T>), vector(T{0}),
                                exp(score - row[places::rows]) * row[places::rows + 1]);
                d_score = select(weight == vector(T{0}), vector(T{0}),
                                 weight * (pairs.weight_gradients(pair) - row[places::rows + 2]));
            }
            weight.store(here.weights + pair);
            pairs.part_gradients(amounts, parts, d_score, pair);
            for (index_t i = 0; i < places::planes; ++i) amounts[i].store(here.parts + i * here.pairs + pair);
            add_up(here, amounts + places::planes + places::rows, places::keys, pair);
        }
        auto const to = targets(x_.d_key, b, k, key_head_, keys_begin);
        pairs.add_planes(here.parts, here.pairs, to);
        if constexpr (places::keys > 0) {
            join_lanes(here, places::keys);
            pairs.add_terms(here.sums, to);
        }
        pairs.add_values(here.weights, targets(x_.d_value, b, k, key_head_, values_begin));
    }

    auto rule_of(arena& memory, index_t longest) const {
        if constexpr (by_rule) return listed_rule<Call>(spec_, layout_.lanes, memory, longest);
        else return nullptr;
    }

    /// Scores become weights, gradients of weights become those of scores; the facts of the rows are left. A pair of
    /// weight 0 has no gradient, whatever its value holds.
    void differentiate_softmax(room const& here, index_t n) const {
        auto const& lanes = layout_.lanes;
        index_t const last = lanes.pairs(n);
        for (index_t l = 0; l < here.period; l += width) {
            vector most(excluded<T>), sum(T{0}), mean(T{0});
            for (index_t p = l; p < last; p += here.period) most = max(most, vector::load(here.weights + p));
            most = over_lanes(most, [](auto const& a, auto const& b) FOVEA_LAMBDA { return max(a, b); });
            most = select(most == vector(excluded<T>), vector(T{0}), most);
            for (index_t p = l; p < last; p += here.period) {
                auto const score = vector::load(here.weights + p);
                auto const weight = select(score == vector(excluded<T>), vector(T{0}), exp(score - most));
                weight.store(here.weights + p);
                sum = sum + weight;
                mean = mean + weighted(weight, vector::load(here.gradients + p));
            }
            auto const plus = [](auto const& a, auto const& b) FOVEA_LAMBDA { return a + b; };
            sum = over_lanes(sum, plus);
            auto const reciprocal = select(sum == vector(T{0}), vector(T{0}), vector(T{1}) / sum);
            mean = over_lanes(mean, plus) * reciprocal;
            for (index_t p = l; p < last; p += here.period) {
                auto const weight = vector::load(here.weights + p);
                weighted(weight * reciprocal, vector::load(here.gradients + p) - mean).store(here.gradients + p);
            }
            most.store(here.facts + l);
            reciprocal.store(here.facts + here.period + l);
            mean.store(here.facts + 2 * here.period + l);
        }
    }
    FOVEA_INLINE static vector weighted(vector const& weight, vector const& x) {
        return select(weight == vector(T{0}), vector(T{0}), weight * x);
    }
    /// Reduces the lanes of each head, in the same order for all.
    template <class F>
    FOVEA_INLINE vector over_lanes(vector all, F const& f) const {
        for (index_t distance = width / 2; distance >= layout_.lanes.padded_heads; distance /= 2)
            all = f(all, groups::rotated(all, distance));
        return all;
    }

    /// Calls f(edge) for the edges whose memory is prefetched beside a vector of pairs.
    template <class F>
    FOVEA_INLINE void for_edges_ahead(index_t pair, index_t n, index_t first_edge, F const& f) const {
        auto const& lanes = layout_.lanes;
        if (!prefetches_ || lanes.head(pair) != 0) return;
        index_t const from = first_edge + ahead, last = std::min(lanes.key(pair + width - 1) + 1, n);
        for (index_t e = from + lanes.key(pair), end = std::min(from + last, graph_.edges()); e < end; ++e) f(e);
    }
    FOVEA_INLINE void take_rows(vector* parts, room const& here, index_t pair) const {
        for (index_t t = 0; t < places::rows; ++t)
            parts[places::planes + t] = vector::load(here.terms + t * here.period + (pair & (here.period - 1)));
    }
    /// The numbers of the heads of a vector of pairs: those of position p begin at from + p * records * padded heads.
    FOVEA_INLINE vector gathered(T const* from, index_t records, std::span<std::int32_t const> listed,
                                 index_t pair) const {
        auto const& lanes = layout_.lanes;
        return groups::gathered(
            [&, n = std::ssize(listed)](index_t i) FOVEA_LAMBDA {
                return from + lanes.pairs(listed.data()[std::min(lanes.key(pair) + i, n - 1)] * records);
            },
            lanes.padded_heads);
    }
    FOVEA_INLINE void repeat(T const* from, T* to, index_t period) const {
        for (index_t l = 0; l < period; l += width)
            groups::repeated(from + l, layout_.lanes.padded_heads).store(to + l);
    }
    /// A number of each head, without the lanes that repeat them.
    FOVEA_INLINE void copy_heads(T const* from, T* to) const {
        for (index_t l = 0; l < layout_.lanes.padded_heads; l += width)
            kernel::store_as<T, Arch>(vector::load(from + l), to + l, layout_.lanes.padded_heads - l);
    }
    FOVEA_INLINE void add_up(room const& here, vector const* amounts, index_t terms, index_t pair) const {
        for (index_t t = 0; t < terms; ++t) {
            T* const sum = here.sums + t * here.period + (pair & (here.period - 1));
            (vector::load(sum) + amounts[t]).store(sum);
        }
    }
    /// The sums of terms, (term, head lanes) one after the other.
    void join_lanes(room const& here, index_t terms) const {
        for (index_t t = 0; t < terms; ++t)
            for (index_t l = 0; l < here.period; l += width) {
                auto const sum = over_lanes(vector::load(here.sums + t * here.period + l),
                                            [](auto const& a, auto const& b) FOVEA_LAMBDA { return a + b; });
                kernel::store_as<T, Arch>(sum, here.sums + t * layout_.lanes.padded_heads + l,
                                          std::min(layout_.lanes.padded_heads, width));
            }
    }

    /// The rows of one position, for each head of the queries, which are set to zero where they are touched first.
    FOVEA_INLINE row_targets<T> targets(view<T, 4> const& rows, index_t b, index_t position, key_head_of head_of,
                                        bool begin) const {
        if (rows.data == nullptr) return {nullptr, 0, head_of};
        T* const first = rows.place(b, index_t{0}, position, index_t{0});
        index_t const features = rows.extent(3), joined = rows.stride(1) == features ? rows.extent(1) : 1;
        for (index_t h = 0; begin && h < rows.extent(1); h += joined)
            std::fill_n(first + h * rows.stride(1), joined * features, T{0});
        return {first, rows.stride(1), head_of};
    }

    Spec const& spec_;
    Operands const& x_;
    graph_view graph_;
    listed_layout<Call> layout_{spec_, x_};
    key_head_of key_head_{x_.group()};
    bool prefetches_;  // rows are short, and too many for the caches
};

}  // namespace fovea::FOVEA_SET::driver
