// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient pass of softmax over products: of queries, keys and values, from recomputed scores.
#pragma once

#include <fovea/driver/dense/dense_loop.hpp>
#include <fovea/driver/dense/key_lanes_scores.hpp>
#include <fovea/driver/dense/score_tile.hpp>
#include <fovea/driver/product_scopes.hpp>
#include <fovea/kernel/nonzero.hpp>

#include <algorithm>
#include <cmath>

namespace fovea::FOVEA_SET::driver {

/// What the gradient of an attention is computed of, beside its queries and keys, and where it goes: all
/// (batch, head, position, feature).
template <class T, class ValueRows>
struct gradient_operands {
    ValueRows value;
    view<T const, 4> d_result;
    view<T, 4> d_query, d_key, d_value;
};

/// The gradient pass of softmax(S) V, where S is a product, its mask and what is added to it:
///
///     P = exp(S - m) / l,   D = sum_k P dO V^T,   dS = P (dO V^T - D),   dV = P^T dO,   dK = dS^T Q scale,   dQ = dS K
///     scale
///
/// S is recomputed on tiles, dO V^T is S of another attention: both are score tiles. The first sweep over the keys
/// finds the maximum m, the sum l and D of each row: a float of their log-sum-exp would not hold large scores, and D of
/// the result would not be rounded as dO V^T, which K may be large enough to show.
/// What a mask excludes is kept out of every sum: what is added up over keys is added pair by pair, and so is what is
/// added up over queries that are not finite; those that are take the transposed product, in float whatever is stored.
/// Source: FlashAttention-2 (Dao, 2023), algorithm 2.
template <class Call, class ValueRows>
class softmax_gradient {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using vector = kernel::pack<T, Arch>;
    using dot_product = decltype(plan::lowered_score{plan::lower_for<false>(sum(q_t{} * k_t{})), always_t{}});
    using value_call = plan::score_call<T, Arch, dot_product, score_operands<T, ValueRows>>;
    static_assert(plan::is_one_product<typename Call::parts>
                      && plan::adds_to_product<std::remove_cvref_t<decltype(Call::spec::score.pointwise)>>,
                  "the derivative of a score by its product is 1");

public:
    using shape = key_lanes_of<Call>;
    using tile_type = score_tile<shape>;
    using partial_sums = no_partial_sums;
    using scratch_of_scores = typename tile_type::scratch;
    using further_operands = gradient_operands<T, ValueRows>;
    static constexpr bool prefetches_rows = false;
    static constexpr int sweeps = 2;

    struct call_type : context_of<Call, shape> {
        further_operands const& further;
        dot_product product{};
        score_operands<T, ValueRows> of_values;
        plan::call_plan plan_of_values;
        context_of<value_call, shape> values;  // dO V^T

        call_type(plan::call_plan const& plan, typename Call::spec const& of, typename Call::operands const& on,
                  further_operands const& others)
            : context_of<Call, shape>(plan, of, on, key_lanes_scores<Call>::functions),
              further(others),
              of_values{others.d_result, others.value},
              plan_of_values(plan::make_key_lanes_plan<value_call>(of_values.sizes())),
              values(plan_of_values, product, of_values, key_lanes_scores<value_call>::functions) {}
    };

    /// Scores become P and dO V^T becomes dS, in place.
    struct scratch {
        scratch_of_scores scores, products;
        scratch(arena& memory, call_type const& call, index_t blocks)
            : scores(memory, call, blocks), products(memory, call.values, blocks) {}
    };

    /// The keys and values of one head, and their gradients, which are summed over all rows of its head group.
    class head_blocks {
    public:
        head_keys<shape> keys, values;
        next_lines next{};

        static constexpr bool packs = true;
        head_blocks(call_type const& call, arena& memory, index_t slots)
            : keys(call, memory, slots),
              values(call.values, memory, slots),
              call_(call),
              d_keys_(memory.template take<T>(call.keys * width(call.key_features))),
              d_values_(memory.template take<T>(call.keys * width(call.values.key_features))) {}

        void begin(head_group heads) {
            keys.begin(heads);
            values.begin(heads);
            std::fill_n(d_keys_, call_.keys * width(call_.key_features), T{0});
            std::fill_n(d_values_, call_.keys * width(call_.values.key_features), T{0});
        }
        index_t first(index_t block) const { return keys.first(block); }
        index_t last(index_t block) const { return keys.last(block); }
        void prepare(index_t block) {
            keys.prepare(block, next);
            values.prepare(block, next);
        }
        void finish() const {
            auto const [batch, head] = keys.heads();
            for (index_t k = 0; k < call_.keys; ++k) {
                std::copy_n(d_key(k), call_.key_features, call_.further.d_key.place(batch, head, k, 0));
                std::copy_n(d_value(k), call_.values.key_features, call_.further.d_value.place(batch, head, k, 0));
            }
        }

        T* d_key(index_t key) const { return d_keys_ + key * width(call_.key_features); }
        T* d_value(index_t key) const { return d_values_ + key * width(call_.values.key_features); }

    private:
        call_type const& call_;
        T *d_keys_, *d_values_;  // (keys, width)
    };

    softmax_gradient(arena& memory, call_type const& call, partial_sums)
        : tile_(memory, call),
          products_(memory, call.values),
          queries_(memory.template take<T>(shape::rows * width(call.features))),
          d_results_(memory.template take<T>(shape::rows * width(call.values.features))),
          d_queries_(memory.template take<T>(shape::rows * width(call.features))) {}

    void begin(call_type const& call, head_group heads, index_t first, index_t count) {
        tile_.begin(call, heads, first, count);
        products_.begin(call.values, heads, first, count);
        std::fill_n(d_queries_, shape::rows * width(call.features), T{0});
        for (index_t r = 0; r < count; ++r) {
            auto const [batch, head, query] = place_of(tile_.rows().facts_of(call, r));
            auto const* const q = call.operands.query.place(batch, head, query, 0);
            T* const scaled = queries_ + r * width(call.features);
            T const scale = tile_.rows().scales[r];
            for (index_t c = 0; c < call.features; ++c)
                scaled[c] = is_summed(call, c) ? static_cast<T>(q[c]) * scale : T{0};
            T const* const d_result = call.further.d_result.place(batch, head, query, 0);
            std::copy_n(d_result, call.values.features, d_results_ + r * width(call.values.features));
            max_[r] = excluded<T>;
            sum_[r] = delta_[r] = T{0};
        }
        auto const finite = [&](T const* rows, index_t features) {
            return kernel::all_finite<T, Arch>([&](index_t r) { return rows + r * width(features); }, count, features);
        };
        finite_ = finite(queries_, call.features) && finite(d_results_, call.values.features);
    }
    void begin_sweep(int sweep) {
        has_sums_ = sweep > 0;
        for (index_t r = 0; r < tile_.rows().count && has_sums_; ++r)
            if (sum_[r] != T{0}) delta_[r] /= sum_[r];
    }
    box span(dense_rows const& call) const { return tile_.span(call); }
    bool whole_panels() const { return tile_.whole_panels(); }

    void take(call_type const& call, block_mask<shape> const& mask, head_blocks& from, key_run<shape> const& at,
              scratch& of) {
        auto const p = tile_.score(call, mask, from.keys, at, of.scores, false, from.next);
        auto const ds = products_.score(call.values, mask, from.values, at, of.products, false, from.next);
        if (!has_sums_) return add_exponentials(p, ds);
        for (index_t r = 0; r < tile_.rows().count; ++r) {
            T* const ds_row = ds.scores + r * ds.stride;
            differentiate(p.scores + r * p.stride, ds_row, p.count, r);
            T* const to = d_queries_ + r * width(call.features);
            for_runs(call.operands.key, from.keys.rows(p.first, p.count), from.keys.loaded(),
                     [&](auto const& run, index_t offset) {  // dQ += dS K
                         kernel::accumulate_nonzero<T, Arch>(kernel::number_products{}, ds_row + offset, run.count,
                                                             kernel::even_rows{run.first, run.stride}, to,
                                                             call.features);
                     });
        }
        if (finite_) {
            add_to_keys(p, d_results_, width(call.values.features), from.d_value(p.first));
            add_to_keys(ds, queries_, width(call.features), from.d_key(p.first));
        } else {
            for (index_t k = 0; k < p.count; ++k) add_to_key(call, from, p.first + k, p.part(k, 1), ds.part(k, 1));
        }
    }

    void finish(call_type const& call) {
        for (index_t r = 0; r < tile_.rows().count; ++r) {
            auto const [batch, head, query] = place_of(tile_.rows().facts_of(call, r));
            T* const to = call.further.d_query.place(batch, head, query, 0);
            for (index_t c = 0; c < call.features; ++c)
                to[c] = is_summed(call, c) ? d_queries_[r * width(call.features) + c] * tile_.rows().scales[r] : T{0};
        }
    }

private:
    static index_t width(index_t features) { return round_up(features, vector::lanes); }
    /// Whether the product runs over a feature.
    static bool is_summed(call_type const& call, index_t feature) {
        auto const [first, count] = call.summed.product;
        return feature >= first && feature < first + count;
    }

    /// m, l and l D of each row, by a run of keys.
    void add_exponentials(score_block<shape> const& s, score_block<shape> const& dot) {
        index_t const count = s.packs() * shape::lanes;
        for (index_t r = 0; r < tile_.rows().count; ++r) {
            T const* const scores = s.scores + r * s.stride;
            T const* const products = dot.scores + r * dot.stride;
            T const before = max_[r];
            max_[r] = std::max(before, *std::max_element(scores, scores + count));
            if (max_[r] == excluded<T>) continue;
            vector sum(T{0}), delta(T{0});
            for (index_t k = 0; k < count; k += vector::lanes) {
                auto const score = vector::load(scores + k);
                auto const weight = exp(score - vector(max_[r]));
                sum = sum + weight;
                delta = delta + select(score == vector(excluded<T>), vector(T{0}), weight * vector::load(products + k));
            }
            T const rescale = std::exp(before - max_[r]);
            sum_[r] = sum_[r] * rescale + kernel::lanes_of<T, Arch>::sum(sum);
            delta_[r] = delta_[r] * rescale + kernel::lanes_of<T, Arch>::sum(delta);
        }
    }

    /// Scores become P, products dS; both are 0 for a pair that takes no part.
    void differentiate(T* p, T* ds, index_t count, index_t r) const {
        for (index_t k = 0; k < count; k += vector::lanes) {
            auto const score = vector::load(p + k);
            auto const excluded_pair = score == vector(excluded<T>);
            auto const weight =
                select(excluded_pair, vector(T{0}), exp(score - vector(max_[r])) * vector(T{1} / sum_[r]));
            auto const change = weight * (vector::load(ds + k) - vector(delta_[r]));
            weight.store(p + k);
            select(excluded_pair, vector(T{0}), change).store(ds + k);
        }
    }

    /// dV += P^T dO, or dK += dS^T Q.
    void add_to_keys(score_block<shape> const& weights, T const* rows, index_t row_width, T* sums) const {
        packed_products<kernel::number_product<T, Arch>>::accumulate_transposed(
            {{{weights.scores, {}, weights.stride}, tile_.rows().count, {rows, row_width}, sums, row_width, nullptr},
             row_width,
             weights.count,
             shape::rows});
    }

    /// Both of one key, where 0 times a query may be no number.
    void add_to_key(call_type const& call, head_blocks const& from, index_t key, score_block<shape> const& p_of,
                    score_block<shape> const& ds_of) const {
        alignas(64) T p[round_up(shape::rows, vector::lanes)] = {}, ds[round_up(shape::rows, vector::lanes)] = {};
        index_t const count = tile_.rows().count;
        for (index_t r = 0; r < count; ++r) {
            p[r] = p_of.scores[r * p_of.stride];
            ds[r] = ds_of.scores[r * ds_of.stride];
        }
        kernel::accumulate_nonzero<T, Arch>(kernel::number_products{}, p, count,
                                            kernel::even_rows{d_results_, width(call.values.features)},
                                            from.d_value(key), call.values.features);
        kernel::accumulate_nonzero<T, Arch>(kernel::number_products{}, ds, count,
                                            kernel::even_rows{queries_, width(call.features)}, from.d_key(key),
                                            call.features);
    }

    tile_type tile_, products_;
    T *queries_, *d_results_, *d_queries_;  // (rows, width)
    T delta_[shape::rows], max_[shape::rows], sum_[shape::rows];
    bool has_sums_ = false;  // the maxima and sums of the rows are known
    bool finite_ = true;     // the queries, and the gradients of their results
};

/// The gradients of queries, keys and values of softmax(score) V.
template <class T, class Arch, class Score, class Predicate, class Q, class K, class V, class Executor>
void run_softmax_gradient(Executor const& executor, workspace& scratch,
                          plan::lowered_score<Score, Predicate> const& spec, score_operands<Q, K> const& operands,
                          gradient_operands<T, V> const& further) {
    using scores = plan::score_call<T, Arch, plan::lowered_score<Score, Predicate>, score_operands<Q, K>>;
    using pass = softmax_gradient<scores, V>;
    auto const plan = plan::make_key_lanes_plan<scores>(operands.sizes());
    typename pass::call_type const context(plan, spec, operands, further);
    dense_loop<pass>(context).run(in_scopes_of<scores>(executor), scratch, true);
}

}  // namespace fovea::FOVEA_SET::driver
