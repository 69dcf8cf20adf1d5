// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient pass of softmax over products: of queries, keys and values, from recomputed scores.
#pragma once

#include <fovea/driver/dense/dense_loop.hpp>
#include <fovea/driver/dense/key_lanes_spec.hpp>
#include <fovea/driver/dense/key_lanes_tile.hpp>
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
/// Plain: what is added up over keys, and over queries, is added pair by pair, which also keeps what a mask excludes
/// out of every sum. Source: FlashAttention-2 (Dao, 2023), algorithm 2.
template <class Call, class ValueRows>
class softmax_gradient {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using vector = kernel::pack<T, Arch>;
    using tile_type = key_lanes_tile<T, Arch>;
    using dot_product = decltype(plan::lowered_score{plan::lower_for<false>(sum(q_t{} * k_t{})), always_t{}});
    using value_call = plan::score_call<T, Arch, dot_product, score_operands<T, ValueRows>>;
    static_assert(plan::is_one_product<typename Call::parts>
                      && plan::adds_to_product<std::remove_cvref_t<decltype(Call::spec::score.pointwise)>>,
                  "the derivative of a score by its product is 1");

public:
    using shape = typename tile_type::shape;
    using partial_sums = no_partial_sums;
    using scratch_of_scores = typename tile_type::scratch;
    using key_run = driver::key_run<shape>;
    using further_operands = gradient_operands<T, ValueRows>;
    static constexpr bool prefetches_rows = false;
    static constexpr int sweeps = 2;

    struct call : key_lanes_context<Call> {
        further_operands const& further;
        dot_product product{};
        score_operands<T, ValueRows> of_values;
        plan::call_plan plan_of_values;
        key_lanes_context<value_call> values;  // dO V^T

        call(plan::call_plan const& plan, typename Call::spec const& of, typename Call::operands const& all,
             further_operands const& others)
            : key_lanes_context<Call>(plan, of, all, key_lanes_scores<Call>::functions),
              further(others),
              of_values{others.d_result, others.value},
              plan_of_values(plan::make_key_lanes_plan<value_call>(of_values.sizes())),
              values(plan_of_values, product, of_values, key_lanes_scores<value_call>::functions) {}
    };

    /// Scores become P and dO V^T becomes dS, in place.
    struct scratch {
        scratch_of_scores scores, products;
        scratch(arena& memory, call const& all, index_t blocks)
            : scores(memory, all, blocks), products(memory, all.values, blocks) {}
    };

    /// The keys and values of one head, and their gradients, which are summed over all rows of its head group.
    class key_blocks {
    public:
        packed_keys<T, Arch> keys, values;
        next_lines next{};

        static constexpr bool packs = true;
        key_blocks(call const& all, arena& memory, index_t slots)
            : keys(all, memory, slots),
              values(all.values, memory, slots),
              call_(all),
              d_keys_(memory.template take<T>(all.keys * width(all.key_features))),
              d_values_(memory.template take<T>(all.keys * width(all.values.key_features))) {}

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
        call const& call_;
        T *d_keys_, *d_values_;  // (keys, width)
    };

    softmax_gradient(arena& memory, call const& all, partial_sums)
        : tile_(memory, all),
          products_(memory, all.values),
          queries_(memory.template take<T>(shape::rows * width(all.features))),
          d_results_(memory.template take<T>(shape::rows * width(all.values.features))),
          d_queries_(memory.template take<T>(shape::rows * width(all.features))) {}

    void begin(call const& all, head_group heads, index_t first, index_t count) {
        tile_.begin(all, heads, first, count);
        products_.begin(all.values, heads, first, count);
        std::fill_n(d_queries_, shape::rows * width(all.features), T{0});
        for (index_t r = 0; r < count; ++r) {
            auto const [batch, head, query] = place_of(tile_.rows().facts[r]);
            auto const* const q = all.operands.query.place(batch, head, query, 0);
            T* const scaled = queries_ + r * width(all.features);
            T const scale = tile_.rows().scales[r];
            for (index_t c = 0; c < all.features; ++c) scaled[c] = static_cast<T>(q[c]) * scale;
            T const* const d_result = all.further.d_result.place(batch, head, query, 0);
            std::copy_n(d_result, all.values.features, d_results_ + r * width(all.values.features));
            max_[r] = excluded<T>;
            sum_[r] = delta_[r] = T{0};
        }
    }
    void begin_sweep(int sweep) {
        has_sums_ = sweep > 0;
        for (index_t r = 0; r < tile_.rows().count && has_sums_; ++r)
            if (sum_[r] != T{0}) delta_[r] /= sum_[r];
    }
    box span(dense_rows const& all) const { return tile_.span(all); }
    bool whole_panels() const { return tile_.whole_panels(); }

    void take(call const& all, block_mask<shape> const& mask, key_blocks& from, key_run const& at, scratch& of) {
        tile_.score(all, mask, from.keys, at, of.scores, false, from.next);
        products_.score(all.values, mask, from.values, at, of.products, false, from.next);
        if (!has_sums_) return add_exponentials(at, of);
        index_t const column = at.granules.first * shape::granule, first = from.first(at.block) + column;
        index_t const count =
            std::min(at.granules.last * shape::granule + from.first(at.block), from.last(at.block)) - first;
        for (index_t r = 0; r < tile_.rows().count; ++r) {
            T* const p = of.scores.scores + r * of.scores.stride + column;
            T* const ds = of.products.scores + r * of.products.stride + column;
            differentiate(p, ds, count, r);
            T* const to = d_queries_ + r * width(all.features);
            for_runs(all.operands.key, {tile_.rows().heads.batch, tile_.rows().heads.index, first, first + count},
                     from.keys.loaded(), [&](auto const& run, index_t offset) {  // dQ += dS K
                         kernel::accumulate_nonzero<T, Arch>(kernel::number_products{}, ds + offset, run.count,
                                                             kernel::even_rows{run.first, run.stride}, to,
                                                             all.features);
                     });
        }
        for (index_t k = 0; k < count; ++k) add_to_key(all, from, first + k, of, column + k);
    }

    void finish(call const& all) {
        for (index_t r = 0; r < tile_.rows().count; ++r) {
            auto const [batch, head, query] = place_of(tile_.rows().facts[r]);
            T* const to = all.further.d_query.place(batch, head, query, 0);
            for (index_t c = 0; c < all.features; ++c)
                to[c] = d_queries_[r * width(all.features) + c] * tile_.rows().scales[r];
        }
    }

private:
    static index_t width(index_t features) { return round_up(features, vector::lanes); }

    /// m, l and l D of each row, by a run of keys.
    void add_exponentials(key_run const& at, scratch const& of) {
        index_t const first = at.granules.first * shape::granule, last = at.granules.last * shape::granule;
        for (index_t r = 0; r < tile_.rows().count; ++r) {
            T const* const scores = of.scores.scores + r * of.scores.stride;
            T const* const products = of.products.scores + r * of.products.stride;
            T const before = max_[r];
            max_[r] = std::max(before, *std::max_element(scores + first, scores + last));
            if (max_[r] == excluded<T>) continue;
            vector sum(T{0}), delta(T{0});
            for (index_t k = first; k < last; k += vector::lanes) {
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

    /// dV += P^T dO and dK += dS^T Q, of one key.
    void add_to_key(call const& all, key_blocks const& from, index_t key, scratch const& of, index_t column) const {
        alignas(64) T p[round_up(shape::rows, vector::lanes)] = {}, ds[round_up(shape::rows, vector::lanes)] = {};
        index_t const count = tile_.rows().count;
        for (index_t r = 0; r < count; ++r) {
            p[r] = of.scores.scores[r * of.scores.stride + column];
            ds[r] = of.products.scores[r * of.products.stride + column];
        }
        kernel::accumulate_nonzero<T, Arch>(kernel::number_products{}, p, count,
                                            kernel::even_rows{d_results_, width(all.values.features)},
                                            from.d_value(key), all.values.features);
        kernel::accumulate_nonzero<T, Arch>(kernel::number_products{}, ds, count,
                                            kernel::even_rows{queries_, width(all.features)}, from.d_key(key),
                                            all.features);
    }

    tile_type tile_, products_;
    T *queries_, *d_results_, *d_queries_;  // (rows, width)
    T delta_[shape::rows], max_[shape::rows], sum_[shape::rows];
    bool has_sums_ = false;  // the maxima and sums of the rows are known
};

/// The gradients of queries, keys and values of softmax(score) V.
template <class T, class Arch, class Score, class Predicate, class Q, class K, class V, class Executor>
void run_softmax_gradient(Executor const& executor, workspace& scratch,
                          plan::lowered_score<Score, Predicate> const& spec, score_operands<Q, K> const& operands,
                          gradient_operands<T, V> const& further) {
    using scores = plan::score_call<T, Arch, plan::lowered_score<Score, Predicate>, score_operands<Q, K>>;
    using pass = softmax_gradient<scores, V>;
    auto const how = plan::make_key_lanes_plan<scores>(operands.sizes());
    typename pass::call const context(how, spec, operands, further);
    dense_loop<pass>(context).run(executor, scratch, true);
}

}  // namespace fovea::FOVEA_SET::driver
