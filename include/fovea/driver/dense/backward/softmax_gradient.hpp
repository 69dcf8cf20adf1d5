// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The backward pass of softmax: P and dS of a tile, whichever operand lies in lanes, and its sums over keys and
// queries.
#pragma once

#include <fovea/driver/call/backward/row_backward.hpp>
#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/backward/gradient_call.hpp>
#include <fovea/driver/dense/backward/gradient_rows.hpp>
#include <fovea/driver/dense/backward/split_query_sums.hpp>
#include <fovea/driver/dense/block_cache.hpp>
#include <fovea/driver/dense/block_functions.hpp>
#include <fovea/driver/dense/dense_loop.hpp>
#include <fovea/driver/dense/score_tile.hpp>
#include <fovea/kernel/product/accumulate.hpp>
#include <fovea/plan/blocking.hpp>
#include <fovea/spec/exponential.hpp>

#include <algorithm>
#include <tuple>

namespace fovea::FOVEA_SET::driver {

/// The statistics of each row in the gradient of softmax: the maximum m and the sum l of its exponentials, and
/// D = sum_k P dP, which is l D until it is divided.
template <class Blocking>
struct row_statistics {
    using T = typename Blocking::number;
    alignas(64) T max[Blocking::rows], sum[Blocking::rows], delta[Blocking::rows];

    void begin() {
        std::fill_n(max, Blocking::rows, excluded<T>);
        std::fill_n(sum, Blocking::rows, T{0});
        std::fill_n(delta, Blocking::rows, T{0});
    }
    /// After the last key: a row that saw none keeps zeros.
    void divide() {
        for (index_t r = 0; r < Blocking::rows; ++r)
            if (sum[r] != T{0}) delta[r] /= sum[r];
    }
};

/// P and dS of a vector of scores and of gradients of weights; both are 0 for a pair that takes no part.
template <class V>
struct softmax_derivative {
    exponential::power<V> power;
    V reciprocal_of_sum, delta;

    FOVEA_INLINE void operator()(typename V::value_type* scores, typename V::value_type* gradients) const {
        using T = typename V::value_type;
        auto const score = V::load(scores);
        auto const excluded_pair = score == V(excluded<T>);
        auto const weight = select(excluded_pair, V(T{0}), power(score) * reciprocal_of_sum);
        auto const change = weight * (V::load(gradients) - delta);
        weight.store(scores);
        select(excluded_pair, V(T{0}), change).store(gradients);
    }
};

/// The steps of the gradient pass on one tile of a blocking:
///
///     add_exponentials(s, dot, rows, of)    m, l and l D, by a run of keys
///     differentiate(p, ds, rows, of)        scores become P, the products dO V^T become dS
///     multiply_and_differentiate(...)       the same, and the products themselves, where `multiplies`
template <class Blocking>
struct gradient_tile;

template <class Blocking>
    requires(!Blocking::queries_in_lanes)
struct gradient_tile<Blocking> {
    using blocking = Blocking;
    using T = typename Blocking::number;
    using Arch = typename Blocking::architecture;
    using vector = kernel::pack<T, Arch>;
    using block = score_block<blocking>;
    static constexpr bool multiplies = false;

    static void add_exponentials(block const& s, block const& dot, tile_rows<blocking> const& rows,
                                 row_statistics<blocking>& of) {
        index_t const count = s.packs() * blocking::lanes;
        for (index_t r = 0; r < rows.count; ++r) {
            T const* const scores = s.scores + r * s.stride;
            T const* const products = dot.scores + r * dot.stride;
            T const before = of.max[r];
            of.max[r] = std::max(before, *std::max_element(scores, scores + count));
            if (of.max[r] == excluded<T>) continue;
            auto const power = exponential::power_below(vector(of.max[r]));
            vector sum(T{0}), delta(T{0});
            for (index_t k = 0; k < count; k += vector::lanes) {
                auto const score = vector::load(scores + k);
                auto const weight = power(score);
                sum = sum + weight;
                delta = delta + select(score == vector(excluded<T>), vector(T{0}), weight * vector::load(products + k));
            }
            T const rescale = exponential::rescaling(before, of.max[r]);
            of.sum[r] = of.sum[r] * rescale + kernel::lanes_of<T, Arch>::sum(sum);
            of.delta[r] = of.delta[r] * rescale + kernel::lanes_of<T, Arch>::sum(delta);
        }
    }

    static void differentiate(block const& p, block const& ds, tile_rows<blocking> const& rows,
                              row_statistics<blocking> const& of) {
        for (index_t r = 0; r < rows.count; ++r) {
            softmax_derivative<vector> const step{exponential::power_below(vector(of.max[r])), vector(T{1} / of.sum[r]),
                                                  vector(of.delta[r])};
            for (index_t k = 0; k < p.count; k += vector::lanes)
                step(p.scores + r * p.stride + k, ds.scores + r * ds.stride + k);
        }
    }
};

template <class Blocking>
    requires(Blocking::queries_in_lanes)
struct gradient_tile<Blocking> {
    using blocking = Blocking;
    using T = typename Blocking::number;
    using vector = kernel::pack<T, typename Blocking::architecture>;
    using block = score_block<blocking>;
    static constexpr bool multiplies = !Blocking::packs_values;

    static void add_exponentials(block const& s, block const& dot, tile_rows<blocking> const&,
                                 row_statistics<blocking>& of) {
        for_lanes(s, [&](index_t lane, block const& part) {
            auto const before = vector::load(of.max + lane);
            auto const most = max(before, vector::load(s.row_max + lane));
            auto const power = exponential::power_below(most);
            T const* const products = dot.part(part.first - s.first, part.count).scores;
            vector sum(T{0}), delta(T{0});
            for (index_t k = 0; k < part.count; ++k) {
                auto const score = vector::load(part.scores + k * s.stride + lane);
                auto const weight = power(score);
                auto const product = weight * vector::load(products + k * dot.stride + lane);
                sum = sum + weight;
                delta = delta + select(score == vector(excluded<T>), vector(T{0}), product);
            }
            auto const rescale = exponential::rescaling(before, most);
            most.store(of.max + lane);
            fma(vector::load(of.sum + lane), rescale, sum).store(of.sum + lane);
            fma(vector::load(of.delta + lane), rescale, delta).store(of.delta + lane);
        });
    }

    static void differentiate(block const& p, block const& ds, tile_rows<blocking> const& rows,
                              row_statistics<blocking> const& of) {
        derivatives const known(rows, of);
        for (auto const& [vectors, granules] : *p.pieces)
            known.apply(vectors, p.part_of(granules), ds.part_of(granules));
    }

    /// dO V^T is multiplied, a register tile at a time, and becomes dS before the next: beside the scores of a run it
    /// does not fit the L1 cache.
    static void multiply_and_differentiate(score_call<blocking> const& call, tile_rows<blocking> const& rows,
                                           head_keys<blocking> const& values, block const& p, block const& ds,
                                           row_statistics<blocking> const& of, next_lines& next) {
        derivatives const known(rows, of);
        for (auto const& [vectors, granules] : *ds.pieces) {
            auto const scores = p.part_of(granules), products = ds.part_of(granules);
            for (index_t v = vectors.first; v < vectors.last; v += Blocking::nv) {
                vector_run const some{v, std::min<index_t>(v + Blocking::nv, vectors.last)};
                for (index_t k = 0; k < products.count;) {
                    auto at = query_lanes_products<blocking>::operands_at(call, rows, values, products, some, k, false);
                    index_t const count = std::min(at.sums.element_count, Blocking::granule);
                    at.sums.element_count = count;
                    lane_products_of<blocking>::contract_query_lanes(at.keys, at.sums, next.keys);
                    known.apply(some, scores.part(k, count), products.part(k, count));
                    k += count;
                }
            }
        }
    }

private:
    /// The numbers of each row of a tile that make P and dS.
    struct derivatives {
        alignas(64) T scale[blocking::rows], shift[blocking::rows], reciprocal_of_sum[blocking::rows];
        T const* delta;

        derivatives(tile_rows<blocking> const& rows, row_statistics<blocking> const& of) : delta(of.delta) {
            for (index_t lane = 0; lane < rows.width; lane += blocking::lanes) {
                auto const power = exponential::power_below(vector::load(of.max + lane));
                power.scale.store(scale + lane);
                power.shift.store(shift + lane);
                (vector(T{1}) / vector::load(of.sum + lane)).store(reciprocal_of_sum + lane);
            }
        }
        void apply(vector_run const& vectors, block const& p, block const& ds) const {
            for (index_t v = vectors.first; v < vectors.last; ++v) {
                index_t const lane = v * blocking::lanes;
                softmax_derivative<vector> const step{{vector::load(scale + lane), vector::load(shift + lane)},
                                                      vector::load(reciprocal_of_sum + lane),
                                                      vector::load(delta + lane)};
                for (index_t k = 0; k < p.count; ++k)
                    step(p.scores + k * p.stride + lane, ds.scores + k * ds.stride + lane);
            }
        }
    };

    /// Calls f(lane, keys) for each vector of queries, with the keys of a piece that it sees.
    template <class F>
    static void for_lanes(block const& of, F const& f) {
        for (auto const& [vectors, granules] : *of.pieces) {
            auto const part = of.part_of(granules);
            for (index_t v = vectors.first; v < vectors.last; ++v) f(v * blocking::lanes, part);
        }
    }
};

/// The gradient pass of softmax(S) V, with its mask, and with a sink beside the keys of a row or without:
///
///     P = exp(S - m) / l,   D = sum_k P dO V^T,   dS = P (dO V^T - D),   dV = P^T dO,
///     dS of each product in S,   dB = dS^T A scale,   dA = dS B scale,   with A = Q and B = K as they are
///
/// Gradients of scores go on in driver/dense/backward/score_gradient.hpp. S is recomputed on tiles, dO V^T is S of
/// another attention: both are score tiles. The first sweep over the keys finds the maximum m, the sum l and D of each
/// row. m and l are kept apart, since a float32 log-sum-exp loses precision for large scores; D is summed from the same
/// dO V^T instead of from dO * O, so that both are rounded alike. Excluded pairs are kept out of every sum: where a sum
/// over keys, or over queries, is not finite, it is added pair by pair. A sink makes the sum l greater, and so weights
/// less; its own gradient is that of a weight whose value is 0, -w D. Source: FlashAttention-2 (Dao, 2023),
/// algorithm 2.
template <class Call, class Backward, class Blocking, class Tables, class Normalize>
class softmax_gradient {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using step = gradient_tile<Blocking>;
    using score = score_gradient<Call, Blocking, Tables>;

public:
    using blocking = Blocking;
    using tile_type = score_tile<blocking>;
    using partial_sums = partial_key_sums<T>;
    struct call_type : gradient_call<Call, Backward, Blocking, Tables> {
        Normalize const& normalize;
        call_type(plan::call_plan const& plan, typename Call::spec const& of, Normalize const& normalizer,
                  typename Call::operands const& on, Backward const& others, Tables const& sums)
            : gradient_call<Call, Backward, Blocking, Tables>(plan, of, on, others, sums), normalize(normalizer) {}
    };
    using head_blocks = gradient_blocks<call_type, Blocking>;
    static constexpr bool prefetches_rows = false, keeps_scores = false;

    /// Scores become P and dO V^T becomes dS, in place.
    struct scratch {
        typename tile_type::scratch scores, products;
        scratch(arena& memory, call_type const& call, index_t blocks)
            : scores(memory, call, blocks), products(memory, call.values, blocks) {
            products.finds_max = false;
            if constexpr (score::keeps_first) scores.kept = memory.template take<T>(scores.plane_stride());
        }
        /// The first part of scores, like these.
        T const* kept(score_block<blocking> const& of) const {
            return score::keeps_first ? scores.kept + (of.scores - scores.scores) : nullptr;
        }
    };

    softmax_gradient(arena& memory, call_type const& call, no_partial_sums)
        : tile_(memory, call), products_(memory, call.values), rows_(memory, call) {}

    void begin(call_type const& call, head_group heads, index_t first, index_t count) {
        tile_.begin(call, heads, first, count);
        products_.begin(call.values, heads, first, count);
        rows_.begin(call, tile_.rows());
        statistics_.begin();
    }
    static int sweeps(call_type const& call) { return call.backward.rows.any() ? 1 : 2; }
    void begin_sweep(call_type const& call, int sweep) {
        has_sums_ = sweep + 1 == sweeps(call);
        if (call.backward.rows.any()) take_known(call);
        else if (has_sums_) complete(call);
    }
    box span(dense_rows const& call) const { return tile_.span(call); }
    bool whole_panels() const { return tile_.whole_panels(); }

    //! [backward]
    /// A tile of queries against a run of keys: the first sweep finds m, l and D, the second P, dS and the sums.
    void take(call_type const& call, block_mask<blocking> const& mask, head_blocks& from, key_run<blocking> const& at,
              scratch& of) {
        bool const trims = blocking::queries_in_lanes && any_mixed(at) && rows_.finite() && from.finite(at.block);
        of.scores.finds_max = !has_sums_;
        auto const p = tile_.score(call, mask, from.keys, at, of.scores, trims, from.next);  // S = Q K^T
        if constexpr (step::multiplies)
            if (has_sums_ && call.values.summed.product.count > 0) {
                auto ds = products_.place(from.values, at, of.products);
                ds.pieces = p.pieces;
                step::multiply_and_differentiate(call.values, products_.rows(), from.values, p, ds, statistics_,
                                                 from.next);
                return rows_.add(call, from, at.block, p, ds, of.kept(p));
            }
        auto const ds = products_.score(call.values, mask, from.values, at, of.products, trims, from.next);  // dO V^T
        if (!has_sums_) return step::add_exponentials(p, ds, tile_.rows(), statistics_);
        step::differentiate(p, ds, tile_.rows(), statistics_);  // P = exp(S - m) / l, dS = P (dO V^T - D)
        rows_.add(call, from, at.block, p, ds, of.kept(p));
    }
    //! [backward]
    void finish(call_type const& call, head_blocks const&, scratch const&) {
        rows_.finish(call);
        if constexpr (row_dependent_normalizer<Normalize>)
            for (index_t r = 0; r < tile_.rows().count && call.backward.wanted.of_rows; ++r)
                if (statistics_.sum[r] != T{0})
                    call.normalize.gradient_of_row(
                        statistics_.max[r], statistics_.sum[r], statistics_.delta[r],
                        gradient_coordinates<T, Arch, Tables>{{tile_.rows().facts_of(call, r)}, rows_.tables()});
    }

private:
    /// After the last key: the statistics have what the normalizer adds to a row, a sink.
    void complete(call_type const& call) {
        // A row without keys has no gradient of its log-sum-exp, which a sink hides.
        bool const takes_lse = call.backward.rows.d_lse.data != nullptr;
        T of_lse[blocking::rows];
        for (index_t r = 0; takes_lse && r < tile_.rows().count; ++r) {
            auto const [batch, head, query] = place_of(tile_.rows().facts_of(call, r));
            of_lse[r] = statistics_.sum[r] == T{0} ? T{0} : call.backward.rows.of_lse(batch, head, query);
        }
        if constexpr (row_dependent_normalizer<Normalize>)
            for (index_t r = 0; r < tile_.rows().count; ++r) {
                coordinates_of_row<T, Arch> const at{tile_.rows().facts_of(call, r)};
                typename row_normalizer<Normalize, T>::template state<T> const carried{statistics_.max[r],
                                                                                       statistics_.sum[r]};
                std::tie(statistics_.max[r], statistics_.sum[r]) =
                    normalizer_of_row(call.normalize, at).max_and_sum(carried);
                statistics_.delta[r] *= exponential::rescaling(carried.max, statistics_.max[r]);
            }
        statistics_.divide();
        for (index_t r = 0; takes_lse && r < tile_.rows().count; ++r) statistics_.delta[r] -= of_lse[r];
    }
    /// The statistics of the rows from the forward call.
    void take_known(call_type const& call) {
        auto const& known = call.backward.rows;
        index_t const features = call.values.features;
        for (index_t r = 0; r < tile_.rows().count; ++r) {
            auto const [batch, head, query] = place_of(tile_.rows().facts_of(call, r));
            statistics_.max[r] = known.max(batch, head, query);
            statistics_.sum[r] = known.sum(batch, head, query);
            statistics_.delta[r] = known.delta.data != nullptr
                                     ? known.delta(batch, head, query)
                                     : delta_of_row<T, Arch>(known.result.place(batch, head, query, 0),
                                                             rows_.d_result(r, features), features);
            statistics_.delta[r] -= known.of_lse(batch, head, query);
        }
    }

    tile_type tile_, products_;
    gradient_rows<call_type, Blocking> rows_;
    row_statistics<blocking> statistics_;
    bool has_sums_ = false;  // those of all keys are known
};

/// The gradients of queries, keys and values of softmax(score) V, and of tables.
template <class T, class Arch, class Score, class Predicate, class Normalize, class Q, class K, class Backward,
          class Executor, class Tables>
void run_softmax_tiles(Executor const& executor, workspace& scratch, plan::lowered_score<Score, Predicate> const& spec,
                       Normalize const& normalize, score_operands<Q, K> const& operands, Backward const& backward,
                       Tables const& tables) {
    using lowered = plan::lowered_score<Score, Predicate>;
    using lanes = plan::gradient_lanes<plan::score_types<T, Arch, lowered, score_operands<Q, K>>,
                                       decltype(Backward::value), typename Backward::d_element, Backward::weight_parts>;
    using scores = plan::score_types<T, Arch, lowered, score_operands<Q, K>, lanes>;
    auto const plan = plan::make_gradient_plan<scores>(operands.sizes());
    known_extremes<Predicate> const known(executor, scratch.shared(), spec.predicate, operands.queries());
    auto const run = [&]<class Blocking>(std::type_identity<Blocking>, auto const& in_tile_configurations) {
        using pass = softmax_gradient<scores, Backward, Blocking, Tables, Normalize>;
        typename pass::call_type context(plan, spec, normalize, operands, backward, tables);
        context.known = &known;
        run_gradient_loop<pass>(context, in_tile_configurations, scratch);
    };
    if constexpr (scores::scores_take_query_lanes)
        if (plan.by == plan::traversal::query_lanes)
            return run(std::type_identity<lanes>{}, in_tile_configurations<lane_products_of<lanes>>(executor));
    run(std::type_identity<plan::key_lanes_blocking<T, Arch>>{}, in_tile_configurations_of<scores>(executor));
}
/// The same on an architecture whose matrix unit is used only where this process may use it.
template <class T, class Arch, class Score, class Predicate, class Normalize, class Q, class K, class V, class D,
          int Weight_parts, class Executor, class Tables>
void run_softmax_gradient(Executor const& executor, workspace& scratch,
                          plan::lowered_score<Score, Predicate> const& spec, Normalize const& normalize,
                          score_operands<Q, K> const& operands,
                          gradient_operands<T, V, D, Weight_parts> const& backward, Tables const& tables) {
    kernel::on_usable<Arch, T, 0, Q, element_of_rows<K>, element_of_rows<V>>(
        [&]<class Usable>(std::type_identity<Usable>) {
            run_softmax_tiles<T, Usable>(executor, scratch, spec, normalize, operands, backward, tables);
        });
}

}  // namespace fovea::FOVEA_SET::driver
