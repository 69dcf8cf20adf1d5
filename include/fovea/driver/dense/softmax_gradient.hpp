// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient pass of softmax: of queries, keys, values and the tables of a score, from recomputed scores.
#pragma once

#include <fovea/driver/dense/dense_loop.hpp>
#include <fovea/driver/dense/gradient_blocks.hpp>
#include <fovea/driver/dense/gradient_tile.hpp>
#include <fovea/driver/dense/key_lanes_scores.hpp>
#include <fovea/driver/dense/query_lanes_scores.hpp>
#include <fovea/driver/dense/score_gradient.hpp>
#include <fovea/driver/dense/score_tile.hpp>
#include <fovea/driver/product_scopes.hpp>
#include <fovea/plan/gradient_plan.hpp>
#include <fovea/spec/saved_rows.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// What the gradient of an attention is computed of, beside its queries and keys, and where it goes: all
/// (batch, head, position, feature).
template <class T, class ValueRows, class D = T>
struct gradient_operands {
    ValueRows value;
    view<D const, 4> d_result;
    view<T, 4> d_query, d_key, d_value;
    saved_rows<T> const* saved = nullptr;  // of a complete forward call
};

/// The gradient pass of softmax(S) V, with its mask:
///
///     P = exp(S - m) / l,   D = sum_k P dO V^T,   dS = P (dO V^T - D),   dV = P^T dO,
///     dS of each product in S,   dB = dS^T A scale,   dA = dS B scale,   A = Q and B = K where they are taken as they
///     are
///
/// What else S is computed of: driver/dense/score_gradient.hpp. S is recomputed on tiles, dO V^T is S of another
/// attention: both are score tiles. The first sweep over the keys finds the maximum m, the sum l and D of each row: a
/// float of their log-sum-exp would not hold large scores, and D of the result would not be rounded as dO V^T, which K
/// may be large enough to show.
/// What a mask excludes is kept out of every sum: where what is added up over keys, or over queries, is not finite, it
/// is added pair by pair.
/// Source: FlashAttention-2 (Dao, 2023), algorithm 2.
template <class Call, class ValueRows, class D, class Shape, class Tables>
class softmax_gradient {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using vector = kernel::pack<T, Arch>;
    using of_values = values_of_gradient<Call, ValueRows, D>;
    using value_call = typename of_values::call;
    using step = gradient_tile<Shape>;
    using score = score_gradient<Call, Shape, Tables>;

    template <class Of>
    static constexpr score_functions<Shape> const& functions_of() {
        if constexpr (Shape::queries_in_lanes) return query_lanes_scores<Of>::functions;
        else return key_lanes_scores<Of>::functions;
    }

public:
    using shape = Shape;
    using tile_type = score_tile<shape>;
    using partial_sums = no_partial_sums;
    using scratch_of_scores = typename tile_type::scratch;
    using further_operands = gradient_operands<T, ValueRows, D>;
    static constexpr bool prefetches_rows = false;

    struct call_type : context_of<Call, shape> {
        using score_type = score;
        further_operands const& further;
        Tables const& tables;
        typename of_values::product product{};
        typename of_values::operands value_operands;
        plan::call_plan plan_of_values;
        context_of<value_call, shape> values;  // dO V^T

        call_type(plan::call_plan const& plan, typename Call::spec const& of, typename Call::operands const& on,
                  further_operands const& others, Tables const& sums)
            : context_of<Call, shape>(plan, of, on, functions_of<Call>()),
              further(others),
              tables(sums),
              value_operands{others.d_result, others.value},
              plan_of_values(plan::make_value_plan<value_call, shape>(plan, value_operands.sizes())),
              values(plan_of_values, product, value_operands, functions_of<value_call>()) {}
    };

    /// Scores become P and dO V^T becomes dS, in place.
    struct scratch {
        scratch_of_scores scores, products;
        scratch(arena& memory, call_type const& call, index_t blocks)
            : scores(memory, call, blocks), products(memory, call.values, blocks) {
            if constexpr (score::keeps_first) scores.kept = memory.template take<T>(scores.plane_stride());
        }
    };

    using head_blocks = gradient_blocks<call_type, Shape>;

    softmax_gradient(arena& memory, call_type const& call, partial_sums)
        : tile_(memory, call),
          products_(memory, call.values),
          width_(score::width(call)),
          queries_(memory.template take<T>(score::products * shape::rows * width_)),
          d_results_(memory.template take<T>(shape::rows * width(call.values.features))),
          d_queries_(memory.template take<T>(score::products * shape::rows * width_)),
          d_pairs_(memory.template take<T>((score::pairs > 0 ? shape::rows : 0) * width_)),
          d_terms_(memory.template take<T>(score::row_terms * shape::rows)),
          row_(memory.template take<T>((2 + score::products) * width_)),
          ones_(memory.template take<T>(shape::rows)) {}

    void begin(call_type const& call, head_group heads, index_t first, index_t count) {
        tile_.begin(call, heads, first, count);
        products_.begin(call.values, heads, first, count);
        auto const task = heads.index / call.per_key_head + heads.batch * (call.head_groups / call.per_key_head);
        tables_ = call.tables.of_task(task);
        std::fill_n(d_queries_, score::products * shape::rows * width_, T{0});
        std::fill_n(d_pairs_, (score::pairs > 0 ? shape::rows : 0) * width_, T{0});
        std::fill_n(d_terms_, score::row_terms * shape::rows, T{0});
        std::fill_n(ones_, shape::rows, T{1});
        for (index_t r = 0; r < count; ++r) {
            auto const& facts = tile_.rows().facts_of(call, r);
            auto const [batch, head, query] = place_of(facts);
            score::for_products(call, [&](auto const& p, index_t n) {
                score::map_query(call, facts, p, tile_.rows().scales[n * shape::rows + r], queries(n) + r * width_);
            });
            kernel::convert_row<T, Arch>(call.further.d_result.place(batch, head, query, 0), call.values.features,
                                         d_results_ + r * width(call.values.features));
        }
        statistics_.begin();
        auto const finite = [&](T const* rows, index_t features) {
            return kernel::all_finite<T, Arch>([&](index_t r) { return rows + r * width(features); }, count, features);
        };
        finite_ = finite(d_results_, call.values.features);
        for (index_t n = 0; n < score::products; ++n) finite_ = finite_ && finite(queries(n), width_);
    }
    static int sweeps(call_type const& call) { return call.further.saved == nullptr ? 2 : 1; }
    void begin_sweep(call_type const& call, int sweep) {
        has_sums_ = sweep + 1 == sweeps(call);
        if (call.further.saved != nullptr) take_saved(call);
        else if (has_sums_) statistics_.divide();
    }
    box span(dense_rows const& call) const { return tile_.span(call); }
    bool whole_panels() const { return tile_.whole_panels(); }

    void take(call_type const& call, block_mask<shape> const& mask, head_blocks& from, key_run<shape> const& at,
              scratch& of) {
        bool const trims = shape::queries_in_lanes && any_mixed(at) && finite_ && from.finite(at.block);
        auto const p = tile_.score(call, mask, from.keys, at, of.scores, trims, from.next);
        auto const ds = products_.score(call.values, mask, from.values, at, of.products, trims, from.next);
        if (!has_sums_) return step::add_exponentials(p, ds, tile_.rows(), statistics_);
        step::differentiate(p, ds, tile_.rows(), statistics_);
        add_to_keys(p, d_results_, width(call.values.features), from.d_value(p.first), from.next);
        if constexpr (!score::is_product)
            score::backpropagate_pairs(
                call, tile_.rows(), from.keys, p, ds,
                of.scores.kept + (score::keeps_first ? p.scores - of.scores.scores : 0), d_terms_,
                [&](index_t head) { return from.d_terms(head); }, from.term_stride(), tables_);
        if constexpr (score::pairs > 0)
            score::add_pairs(
                call, tile_.rows(), from.keys, p, ds, d_pairs_, [&](index_t key) { return from.d_key(key); }, tables_);
        score::for_products(call, [&](auto const& product, index_t n) {
            auto const part = score::of_part(p, ds, n);
            add_to_queries(call, from, at.block, part, product, n);
            if constexpr (score::template has_plain_key<decltype(product)>)
                add_to_keys(part, queries(n), width_, from.d_key(p.first), from.next);
            else add_to_keys(part, queries(n), width_, from.d_mapped_key(n, p.first), from.next);
        });
    }

    void finish(call_type const& call) {
        T *const row = row_, *const mapped = row_ + width_, *const factors = mapped + width_;
        for (index_t r = 0; r < tile_.rows().count; ++r) {
            auto const& facts = tile_.rows().facts_of(call, r);
            auto const [batch, head, query] = place_of(facts);
            std::fill_n(row, width_, T{0});
            if constexpr (score::pairs > 0) std::copy_n(d_pairs_ + r * width_, width_, row);
            score::for_products(call, [&](auto const& p, index_t n) {
                for (index_t c = 0; c < call.span_of(p).count; ++c)
                    factors[n * width_ + c] = d_queries(n)[query_element(r, c)];
            });
            score::finish_row(call, facts, tile_.rows().scales + r, factors, d_terms_ + r, row, mapped, tables_);
            std::copy_n(row, call.features, call.further.d_query.place(batch, head, query, 0));
        }
    }

private:
    static index_t width(index_t features) { return round_up(features, vector::lanes); }
    T* queries(index_t product) const { return queries_ + product * shape::rows * width_; }
    T* d_queries(index_t product) const { return d_queries_ + product * shape::rows * width_; }
    index_t query_element(index_t r, index_t c) const {
        return shape::queries_in_lanes ? c * tile_.rows().width + r : r * width_ + c;
    }

    /// The statistics of the rows from the forward call, D = sum_c dO O.
    void take_saved(call_type const& call) {
        auto const& saved = *call.further.saved;
        index_t const features = call.values.features;
        for (index_t r = 0; r < tile_.rows().count; ++r) {
            auto const [batch, head, query] = place_of(tile_.rows().facts_of(call, r));
            statistics_.max[r] = saved.max()(batch, head, query);
            statistics_.sum[r] = saved.sum()(batch, head, query);
            T const* const result = saved.result().place(batch, head, query, 0);
            T const* const d_result = d_results_ + r * width(features);
            vector delta(T{0});
            for (index_t c = 0; c < features; c += vector::lanes)
                delta = fma(kernel::load_as<T, Arch>(result + c, features - c), vector::load(d_result + c), delta);
            statistics_.delta[r] = kernel::lanes_of<T, Arch>::sum(delta);
        }
    }

    /// dA += dS B of a product.
    template <class Product>
    void add_to_queries(call_type const& call, head_blocks& from, [[maybe_unused]] index_t block,
                        score_block<shape> const& ds, Product const& p, index_t n) {
        auto const span = call.span_of(p);
        if constexpr (shape::queries_in_lanes) {
            if (!from.finite(block)) return add_finite_to_queries(from, ds, span);
            index_t const width = tile_.rows().width;
            score::for_pieces(ds, [&](score_block<shape> const& part, vector_run const& vectors) {
                index_t const lane = vectors.first * shape::lanes;
                for (index_t k = 0; k < part.count;) {
                    auto const run = from.keys(part.first + k, part.count - k);
                    products<T, Arch>::accumulate_query_lanes(
                        {run.first + span.first, {}, run.stride},
                        {vectors.last - vectors.first, span.count, run.count, part.scores + k * width + lane,
                         d_queries_ + lane, width, ones_, nullptr},
                        from.next.queue());
                    k += run.count;
                }
            });
        } else {
            auto const add = [&](auto const& keys, index_t offset, index_t number) {
                for (index_t r = 0; r < tile_.rows().count; ++r)
                    kernel::accumulate_nonzero<T, Arch>(kernel::number_products{}, ds.scores + r * ds.stride + offset,
                                                        number, keys, d_queries(n) + r * width_, span.count);
            };
            if constexpr (score::template has_plain_key<Product>)
                for_runs(call.operands.key, from.keys.rows(ds.first, ds.count), from.keys.loaded(),
                         [&](auto const& run, index_t offset) {
                             add(kernel::even_rows{run.first + span.first, run.stride}, offset, run.count);
                         });
            else add(kernel::even_rows<T>{from.mapped_key(n, ds.first), width_}, 0, ds.count);
        }
    }
    /// The same where a key is not finite: 0 times it is no number.
    [[gnu::cold]] void add_finite_to_queries(head_blocks& from, score_block<shape> const& ds, feature_span span) {
        for (index_t k = 0; k < ds.count; ++k)
            for (index_t r = 0; r < tile_.rows().count; ++r) {
                T const amount = ds.scores[step::element(r, k, ds.stride)];
                for (index_t c = 0; c < span.count && amount != T{0}; ++c)
                    d_queries_[query_element(r, c)] += amount * from.keys(ds.first + k, 1).first[span.first + c];
            }
    }

    /// dV += P^T dO, or dB += dS^T A.
    void add_to_keys(score_block<shape> const& weights, T const* rows, index_t row_width, T* sums, next_lines& next) {
        if (!finite_) {
            for (index_t k = 0; k < weights.count; ++k) add_to_key(weights, k, rows, row_width, sums + k * row_width);
            return;
        }
        using product = packed_products<kernel::number_product<T, Arch>>;
        if constexpr (shape::queries_in_lanes) {
            using tile = plan::key_lanes_blocking<T, Arch>;
            score::for_pieces(weights, [&](score_block<shape> const& part, vector_run const& vectors) {
                index_t const first = vectors.first * shape::lanes,
                              count = std::min(vectors.last * shape::lanes, tile_.rows().count) - first;
                for (index_t k = 0; k < part.count;) {
                    int n = tile::last_height;
                    while (tile::height(n) > part.count - k) --n;
                    product::accumulate({{{part.scores + k * part.stride + first, part.stride, {}},
                                          count,
                                          {rows + first * row_width, row_width},
                                          sums + (part.first - weights.first + k) * row_width,
                                          row_width,
                                          ones_},
                                         row_width,
                                         tile::height(n),
                                         tile::height(n)},
                                        next.queue());
                    k += tile::height(n);
                }
            });
        } else {
            product::accumulate_transposed({{{weights.scores, {}, weights.stride},
                                             tile_.rows().count,
                                             {rows, row_width},
                                             sums,
                                             row_width,
                                             nullptr},
                                            row_width,
                                            weights.count,
                                            shape::rows});
        }
    }

    /// The same of one key, where 0 times a row may be no number.
    [[gnu::cold]] void add_to_key(score_block<shape> const& weights, index_t key, T const* rows, index_t row_width,
                                  T* sums) const {
        alignas(64) T of_rows[round_up(shape::rows, vector::lanes)] = {};
        for (index_t r = 0; r < tile_.rows().count; ++r)
            of_rows[r] = weights.scores[step::element(r, key, weights.stride)];
        kernel::accumulate_nonzero<T, Arch>(kernel::number_products{}, of_rows, tile_.rows().count,
                                            kernel::even_rows{rows, row_width}, sums, row_width);
    }

    tile_type tile_, products_;
    index_t width_;
    T *queries_, *d_results_;  // A scale (products, rows, width), dO (rows, width of values)
    T* d_queries_;             // dA (products, rows, width), or (features, rows) with queries in lanes
    T* d_pairs_;               // (rows, width), what sums of pairs give queries
    T* d_terms_;               // (row terms, rows)
    T* row_;                   // of one row: (2 + products, width)
    T* ones_;                  // (rows)
    typename Tables::share_type tables_;
    row_statistics<shape> statistics_;
    bool has_sums_ = false;  // those of all keys are known
    bool finite_ = true;     // the queries, and the gradients of their results
};

/// The gradients of queries, keys and values of softmax(score) V, and of tables.
template <class T, class Arch, class Score, class Predicate, class Q, class K, class V, class D, class Executor,
          class Tables>
void run_softmax_gradient(Executor const& executor, workspace& scratch,
                          plan::lowered_score<Score, Predicate> const& spec, score_operands<Q, K> const& operands,
                          gradient_operands<T, V, D> const& further, Tables const& tables) {
    using scores = plan::score_call<T, Arch, plan::lowered_score<Score, Predicate>, score_operands<Q, K>>;
    auto const plan = plan::make_gradient_plan<scores>(operands.sizes());
    auto const run = [&]<class Shape>(std::type_identity<Shape>, auto const& in_scopes) {
        using pass = softmax_gradient<scores, V, D, Shape, Tables>;
        typename pass::call_type const context(plan, spec, operands, further, tables);
        run_key_heads<pass>(context, in_scopes, scratch);
    };
    if constexpr (plan::gradient_takes_query_lanes<scores>)
        if (plan.by == plan::traversal::query_lanes)
            return run(std::type_identity<plan::query_lanes_blocking<T, Arch>>{}, executor);
    run(std::type_identity<plan::key_lanes_blocking<T, Arch>>{}, in_scopes_of<scores>(executor));
}
/// The same without those of tables.
template <class T, class Arch, class Score, class Predicate, class Q, class K, class V, class D, class Executor>
void run_softmax_gradient(Executor const& executor, workspace& scratch,
                          plan::lowered_score<Score, Predicate> const& spec, score_operands<Q, K> const& operands,
                          gradient_operands<T, V, D> const& further) {
    table_sums<T> const none({}, {}, {}, scratch.shared(), operands.batches() * operands.key.extent(1));
    run_softmax_gradient<T, Arch>(executor, scratch, spec, operands, further, none);
}

}  // namespace fovea::FOVEA_SET::driver
