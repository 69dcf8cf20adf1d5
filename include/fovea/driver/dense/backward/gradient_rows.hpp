// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Query side of the backward pass: adds P^T dO to dV, and carries dS back to dQ, dK and tables, for the pass of softmax
// and for that over whole rows.
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/backward/gradient_blocks.hpp>
#include <fovea/driver/dense/backward/key_sums.hpp>
#include <fovea/driver/dense/backward/score_gradient.hpp>
#include <fovea/driver/dense/backward/table_gradient.hpp>
#include <fovea/driver/dense/query_lanes_products.hpp>
#include <fovea/kernel/product/accumulate.hpp>
#include <fovea/plan/blocking.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The rows of a tile of a gradient_call, the gradients of their results, and the sums of their gradients:
///
///     begin(call, rows)                     the rows of a tile of scores
///     add(call, from, block, p, ds, kept)   dV += P^T dO, and dS goes back to what S was computed of, for some keys of
///                                           a block
///     finish(call)                          after the last key
///
/// Excluded pairs have 0 in P and dS, and are kept out of every sum: where what is added up over keys, or over
/// queries, is not finite, it is added pair by pair.
template <class Call, class Blocking>
class gradient_rows {
    using T = typename Blocking::number;
    using Arch = typename Blocking::architecture;
    using vector = kernel::pack<T, Arch>;
    using score = typename Call::score_type;
    using blocks = gradient_blocks<Call, Blocking>;
    using rows_type = tile_rows<Blocking>;
    using adds = key_sums<Blocking>;
    using of_tables = typename score::of_tables;
    static constexpr index_t d_parts = adds::template parts<typename Call::d_element>;
    // Of a tile, or of a register tile of keys, which may have more where vectors are short.
    static constexpr index_t most_rows = std::max<index_t>(Blocking::rows, plan::key_lanes_blocking<T, Arch>::rows);

public:
    gradient_rows(arena& memory, Call const& call)
        : width_(score::width(call)),
          queries_(memory.template take<T>(score::products * Blocking::rows * width_)),
          d_results_(memory.template take<T>(Blocking::rows * width(call.values.features))),
          d_queries_(memory.template take<T>(score::products * Blocking::rows * width_)),
          d_pairs_(memory.template take<T>((score::pairs > 0 ? Blocking::rows : 0) * width_)),
          d_terms_(memory.template take<T>(score::row_terms * Blocking::rows)),
          row_(memory.template take<T>((2 + score::products) * width_)),
          scales_(memory.template take<T>(adds::packs ? Blocking::rows : 0)),
          query_pairs_(memory.template take<T>(adds::pairs(width_))),
          d_result_pairs_(memory.template take<T>(d_parts * adds::pairs(width(call.values.features)))),
          ones_(memory.template take<T>(most_rows)),
          d_factors_(memory.template take<T>(score::factors::of_queries * score::factors::of_tile(call))),
          of_tables_(call, memory) {}

    void begin(Call const& call, rows_type const& of) {
        rows_ = &of;
        tables_ = call.backward.wanted.of_queries ? call.tables.of_task(call.task_of(of.heads, of.first))
                                                  : call.tables.none();
        std::fill_n(d_queries_, score::products * Blocking::rows * width_, T{0});
        std::fill_n(d_pairs_, (score::pairs > 0 ? Blocking::rows : 0) * width_, T{0});
        std::fill_n(d_terms_, score::row_terms * Blocking::rows, T{0});
        std::fill_n(ones_, most_rows, T{1});
        std::fill_n(d_factors_, score::factors::of_queries * score::factors::of_tile(call), T{0});
        if constexpr (of_tables::count > 0) of_tables_.begin(call, of);
        if constexpr (adds::packs) {  // the one product of queries as they are stored
            score::for_products(call, [&](auto const& p, index_t) {
                score::scale_rows(call, of, p, std::fill_n(scales_, Blocking::rows, T{0}) - Blocking::rows);
            });
        }
        for (index_t r = 0; r < of.count; ++r) {
            auto const& coordinates = rows().facts_of(call, r);
            auto const [batch, head, query] = place_of(coordinates);
            score::for_products(call, [&](auto const& p, index_t n) {
                score::map_query(call, coordinates, p, scales()[n * Blocking::rows + r], queries(n) + r * width_);
            });
            kernel::convert_row<T, Arch>(call.backward.d_result.place(batch, head, query, 0), call.values.features,
                                         d_results_ + r * width(call.values.features));
        }
        auto const finite = [&](T const* from, index_t features) {
            return kernel::all_finite<T, Arch>([&](index_t r) { return from + r * width(features); }, of.count,
                                               features);
        };
        if constexpr (adds::packs) {
            adds::pack(of.strided(call, call.operands.query), rows_of(call, 0));
            adds::pack(of.strided(call, call.backward.d_result), d_rows_of(call));
        }
        finite_ = finite(d_results_, call.values.features);
        for (index_t n = 0; n < score::products; ++n) finite_ = finite_ && finite(queries(n), width_);
    }

    bool finite() const { return finite_; }  // the queries, and the gradients of their results
    typename Call::tables_type::share_type const& tables() const { return tables_; }
    T const* d_result(index_t r, index_t features) const { return d_results_ + r * width(features); }
    /// Where the pair of row r and key k of a run lies.
    static constexpr index_t element(index_t r, index_t k, index_t stride) {
        return Blocking::queries_in_lanes ? k * stride + r : r * stride + k;
    }

    /// `kept` is the first part of the score, like P, where it is kept.
    void add(Call const& call, blocks& from, index_t block, score_block<Blocking> const& p,
             score_block<Blocking> const& ds, T const* kept) {
        if (call.backward.wanted.of_keys) add_to_keys(p, d_rows_of(call), from.d_value(p.first), from);
        if constexpr (!score::is_product)
            score::backpropagate_pairs(
                call, rows(), from.keys, p, ds, kept, d_terms_, [&](index_t head) { return from.d_terms(head); },
                from.term_stride(), tables_);
        if constexpr (score::pairs > 0)
            score::add_pairs(
                call, rows(), from.keys, p, ds, d_pairs_, [&](index_t key) { return from.d_key(key); }, tables_,
                [&](auto const& pair, index_t n, score_block<Blocking> const& amounts) {
                    if constexpr (of_tables::count > 0)
                        if (of_tables_.add(call, rows(), amounts, pair, n, tables_)) return true;
                    if constexpr (score::of_key_tables::count > 0)
                        if (from.key_tables.add(
                                call, rows(), from.keys, amounts, pair, tables_, call.backward.wanted.of_keys,
                                [&](index_t key, index_t first) {
                                    return typename score::cotangents{nullptr, from.d_key(key) + first, tables_};
                                },
                                [&](score_block<Blocking> const& part) {
                                    score::add_pair(
                                        call, rows(), from.keys, part, pair, d_pairs_,
                                        [&](index_t key) { return from.d_key(key); }, tables_);
                                }))
                            return true;
                    return score::factors::takes_pairs(call, rows(), from.keys, block)
                        && score::factors::add(call, rows(), from.keys, block, amounts, pair, n, d_factors_,
                                               from.d_factors());
                });
        score::for_products(call, [&](auto const& product, index_t n) {
            auto const part = score::of_part(p, ds, n);
            constexpr bool plain = score::template has_plain_key<decltype(product)>;
            if (call.backward.wanted.of_keys)
                add_to_keys(part, rows_of(call, n), plain ? from.d_key(p.first) : from.d_mapped_key(n, p.first), from);
            // Last: it may take the place of the amounts.
            if (call.backward.wanted.of_queries) add_to_queries(call, from, block, part, product, n);
        });
    }

    void finish(Call const& call) {
        if (!call.backward.wanted.of_queries) return;
        T *const row = row_, *const mapped = row_ + width_, *const factors = mapped + width_;
        for (index_t r = 0; r < rows().count; ++r) {
            auto const& coordinates = rows().facts_of(call, r);
            auto const [batch, head, query] = place_of(coordinates);
            std::fill_n(row, width_, T{0});
            if constexpr (score::pairs > 0) std::copy_n(d_pairs_ + r * width_, width_, row);
            score::for_products(call, [&](auto const& p, index_t n) {
                for (index_t c = 0; c < call.span_of(p).count; ++c)
                    factors[n * width_ + c] = d_queries(n)[query_element(r, c)];
            });
            score::finish_row(call, coordinates, scales() + r, factors, d_terms_ + r, row, mapped, tables_);
            if constexpr (score::factors::any)
                score::factors::finish_row(call, coordinates, r, d_factors_, mapped, [&](index_t first) {
                    return typename score::cotangents{row + first, nullptr, tables_};
                });
            if constexpr (of_tables::count > 0)
                of_tables_.finish_row(call, coordinates, r, [&](index_t first) {
                    return typename score::cotangents{row + first, nullptr, tables_};
                });
            call.backward.leave(row, call.features, call.backward.d_query.place(batch, head, query, 0));
        }
    }

private:
    rows_type const& rows() const { return *rows_; }
    static index_t width(index_t features) { return round_up(features, vector::lanes); }
    T const* scales() const { return adds::packs ? scales_ : rows().scales; }
    added_rows<T> rows_of(Call const& call, index_t product) const {
        return {rows().count, call.features, width_, queries(product), query_pairs_, scales_};
    }
    added_rows<T> d_rows_of(Call const& call) const {
        index_t const features = call.values.features;
        return {rows().count, features, width(features), d_results_, d_result_pairs_, nullptr, d_parts};
    }
    T* queries(index_t product) const { return queries_ + product * Blocking::rows * width_; }
    T* d_queries(index_t product) const { return d_queries_ + product * Blocking::rows * width_; }
    index_t query_element(index_t r, index_t c) const {
        return Blocking::queries_in_lanes ? c * rows().width + r : r * width_ + c;
    }

    /// dA += dS B of a product.
    template <class Product>
    void add_to_queries(Call const& call, blocks& from, [[maybe_unused]] index_t block, score_block<Blocking> const& ds,
                        Product const& p, index_t n) {
        auto const span = call.span_of(p);
        if constexpr (Blocking::queries_in_lanes) {
            if (!from.finite(block)) return add_finite_to_queries(from, ds, span);
            index_t const width = rows().width;
            score::for_pieces(ds, [&](score_block<Blocking> const& part, vector_run const& vectors) {
                index_t const lane = vectors.first * Blocking::lanes;
                for (index_t k = 0; k < part.count;) {
                    auto const run = from.keys_as_values(part.first + k, part.count - k);
                    lane_products_of<Blocking>::accumulate_query_lanes(
                        {run.first + span.first, {}, run.stride},
                        {vectors.last - vectors.first, span.count, run.count, part.scores + k * width + lane,
                         d_queries_ + lane, width, ones_, nullptr},
                        from.next.queue());
                    k += run.count;
                }
            });
        } else {
            bool const dense = !kernel::mostly_zero<T, Arch>(ds.scores, ds.stride, rows().count, ds.count) && [&] {
                if constexpr (score::template has_plain_key<Product>) return from.finite(block);
                else
                    return kernel::all_finite<T, Arch>([&](index_t k) { return from.mapped_key(n, ds.first + k); },
                                                       ds.count, width_);
            }();
            index_t const whole = dense ? span.count - span.count % vector::lanes : 0;
            auto const add = [&](auto const& keys, index_t offset, index_t number) {
                using product = kernel::number_product<T, Arch>;
                using keys_type = std::remove_cvref_t<decltype(keys)>;
                if (whole > 0)
                    accumulate_few<product>(
                        typename product::step{},
                        weighted_rows<T, keys_type>{
                            {{ds.scores + offset, ds.stride, {}}, number, keys, d_queries(n), width_, ones_},
                            whole,
                            rows().count,
                            Blocking::rows});
                for (index_t r = 0; r < rows().count && whole < span.count; ++r)
                    kernel::accumulate_nonzero<T, Arch>(kernel::number_products{}, ds.scores + r * ds.stride + offset,
                                                        number, keys.from(0, whole), d_queries(n) + r * width_ + whole,
                                                        span.count - whole);
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
    [[gnu::cold]] void add_finite_to_queries(blocks& from, score_block<Blocking> const& ds, feature_span span) {
        for (index_t k = 0; k < ds.count; ++k)
            for (index_t r = 0; r < rows().count; ++r) {
                T const amount = ds.scores[element(r, k, ds.stride)];
                for (index_t c = 0; c < span.count && amount != T{0}; ++c)
                    d_queries_[query_element(r, c)] +=
                        amount * static_cast<T>(from.keys(ds.first + k, 1).first[span.first + c]);
            }
    }

    /// dV += P^T dO, or dB += dS^T A.
    void add_to_keys(score_block<Blocking> const& weights, added_rows<T> const& of_rows, T* sums, blocks& from) {
        if (finite_) return from.adds.add(weights, of_rows, ones_, sums, from.next);
        for (index_t k = 0; k < weights.count; ++k)
            add_to_key(weights, k, of_rows.numbers, of_rows.width, sums + k * of_rows.width);
    }
    /// The same of one key, where 0 times a row may be no number.
    [[gnu::cold]] void add_to_key(score_block<Blocking> const& weights, index_t key, T const* of_rows,
                                  index_t row_width, T* sums) const {
        alignas(64) T amounts[round_up(Blocking::rows, vector::lanes)] = {};
        for (index_t r = 0; r < rows().count; ++r) amounts[r] = weights.scores[element(r, key, weights.stride)];
        kernel::accumulate_nonzero<T, Arch>(kernel::number_products{}, amounts, rows().count,
                                            kernel::even_rows{of_rows, row_width}, sums, row_width);
    }

    rows_type const* rows_ = nullptr;
    index_t width_;
    T *queries_, *d_results_;  // A scale (products, rows, width), dO (rows, width of values)
    T* d_queries_;             // dA (products, rows, width), or (features, rows) with queries in lanes
    T* d_pairs_;               // (rows, width), what sums of pairs give queries
    T* d_terms_;               // (row terms, rows)
    T* row_;                   // of one row: (2 + products, width)
    // Where rows are packed for sums of keys: the factors of queries, which need not be those that scores are
    // multiplied by, and pairs of queries and of dO.
    T *scales_, *query_pairs_, *d_result_pairs_;
    T* ones_;       // (most_rows)
    T* d_factors_;  // of pairs, as driver/dense/backward/factor_gradient.hpp has them
    of_tables of_tables_;
    typename Call::tables_type::share_type tables_;
    bool finite_ = true;
};

}  // namespace fovea::FOVEA_SET::driver
