// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient of scores back to products, terms and tables.
#pragma once

#include <fovea/driver/call/backward/table_sink.hpp>
#include <fovea/driver/dense/backward/factor_gradient.hpp>
#include <fovea/driver/dense/backward/key_table_gradient.hpp>
#include <fovea/driver/dense/backward/table_gradient.hpp>
#include <fovea/driver/dense/block_cache.hpp>
#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/score_terms.hpp>
#include <fovea/driver/dense/sub_tiles.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/expr/analyze.hpp>
#include <fovea/kernel/backward/scatter.hpp>
#include <fovea/kernel/backward/score_derivative.hpp>
#include <fovea/kernel/packing.hpp>
#include <fovea/plan/backward/score_gradient.hpp>

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::driver {

/// The chain rule of a lowered score. With s = f(products, sums of pairs, terms of rows and of keys, tables):
///
///     backpropagate_pairs    ds of pairs becomes that of each part; terms and tables are summed up
///     add_pairs              sums of pairs, back to features
///     finish_row, _key       terms and the factors of products, back to features and tables
///
/// A product is scale * sum_c A_c B_c, with A of the query and B of the key: dA = scale * ds B, dB = scale * ds^T A,
/// both by the pass. Rows of all of these have width(context) features, zeros beside those of the sum.
template <class Call, class Blocking, class Tables>
class score_gradient {
    using T = typename Blocking::number;
    using Arch = typename Blocking::architecture;
    using context_type = context_of<Call, Blocking>;
    using parts = typename Call::parts;
    using rows_type = tile_rows<Blocking>;
    using keys_type = head_keys<Blocking>;
    using query_element = typename Call::query_element;
    using of_score =
        plan::score_gradient_types<std::remove_cvref_t<decltype(Call::spec::score.pointwise)>, parts, Tables>;
    using kinds = typename of_score::cotangents;
    using share = typename Tables::share_type;
    using names_of_index = kernel::index_environment<T, Arch, index_t>;
    template <class E>
    static constexpr bool reached = reaches<std::remove_cvref_t<E>, kinds>;

public:
    using cotangents = kernel::feature_cotangents<T, Arch, kinds, share>;
    static constexpr bool is_product = of_score::is_product, keeps_first = of_score::keeps_first;
    static constexpr index_t products = of_score::products, pairs = of_score::pairs, row_terms = of_score::row_terms,
                             key_terms = of_score::key_terms;
    static constexpr bool terms_per_head = score_terms<Call, Blocking>::per_head;
    using factors = factor_gradient<Call, Blocking, Tables>;   // of sums of pairs
    using of_tables = table_gradient<Call, Blocking>;          // of those with rows of tables
    using of_key_tables = key_table_gradient<Call, Blocking>;  // of these times keys
    template <class Product>
    static constexpr bool has_plain_key = plan::has_plain_key<std::remove_cvref_t<Product>>;
    static constexpr index_t mapped_keys = plan::mapped_keys_of<decltype(parts::products)>;

    static index_t width(context_type const& context) {
        return round_up(context.summed.most, kernel::pack<T, Arch>::lanes);
    }
    /// Where the features of a product begin in rows of A and B: a key that is taken as it is has all of its features.
    template <class Product>
    static index_t offset(context_type const& context, Product const& p) {
        return has_plain_key<Product> ? context.span_of(p).first : 0;
    }
    /// Calls f(product, n) for each.
    template <class F>
    static void for_products(context_type const& context, F const& f) {
        index_t n = 0;
        plan::for_each_part(context.spec.score.parts.products, [&](auto const& p) { f(p, n++); });
    }

    /// The factors of a product for the rows of a tile.
    template <class Product>
    static void scale_rows(context_type const& context, rows_type const& rows, Product const& p, T* to) {
        score_terms<Call, Blocking>::scale_rows(context, rows, p.scale, to);
    }
    /// A of one row, times a factor.
    template <class Product>
    static void map_query(context_type const& context, kernel::row_coordinates const& coordinates, Product const& p,
                          T factor, T* to) {
        auto const [first, count] = context.span_of(p);
        std::fill_n(to, width(context), T{0});
        kernel::scatter_features<T, Arch>(p.of_query, names_of_index{coordinates, 0},
                                          query_of(context, coordinates) + first, count, factor,
                                          to + offset(context, p), 1);
    }
    /// B of some keys: (keys, width).
    template <class Product>
    static void map_keys(context_type const& context, keys_type const& keys, Product const& p, T* to) {
        auto const span = context.span_of(p);
        auto const coordinates = context.coordinates(keys.heads(), 0);
        std::fill_n(to, context.keys * width(context), T{0});
        for_runs(context.operands.key, keys.rows(0, context.keys), keys.loaded(), [&](auto const& run, index_t from) {
            for (index_t r = 0; r < run.count; ++r)
                kernel::scatter_features<T, Arch>(p.of_key, names_of_index{coordinates, from + r},
                                                  run.first + r * run.stride + span.first, span.count, T{1},
                                                  to + (from + r) * width(context), 1);
        });
    }

    /// ds becomes the gradients of parts: of the first one in place, of the others in the planes of `scores`. `kept` is
    /// the first part's plane, row_sums (terms, rows), key_sums(head) those of all keys: (terms, key_stride).
    template <class KeySums>
    static void backpropagate_pairs(context_type const& context, rows_type const& rows, keys_type const& keys,
                                    score_block<Blocking> const& scores, score_block<Blocking> const& ds, T const* kept,
                                    T* row_sums, KeySums const& key_sums, index_t key_stride, share const& tables) {
        using terms = score_terms<Call, Blocking>;
        auto const add = [&](score_block<Blocking> const& part, index_t first, index_t last) FOVEA_LAMBDA {
            terms::for_rows(context, rows, keys, part, first, last,
                            [&](auto const& coordinates, auto const& queries, auto const& at) FOVEA_LAMBDA {
                                index_t const place = at.scores - scores.scores, r = at.row_terms - rows.terms;
                                kernel::part_sums<T> const to{.scores = ds.scores + place,
                                                              .kept = keeps_first ? kept + place : nullptr,
                                                              .rows = rows.count - r,
                                                              .row_terms = row_sums + r,
                                                              .row_stride = Blocking::rows,
                                                              .key_terms = key_sums(coordinates.head) + at.first_key,
                                                              .key_stride = key_stride};
                                kernel::backpropagate_scores<of_score, T, Arch>(context.spec.score.pointwise,
                                                                                context.indices, coordinates, queries,
                                                                                at, to, tables);
                            });
        };
        if constexpr (Blocking::queries_in_lanes)
            for_pieces(scores, [&](score_block<Blocking> const& part, vector_run const& vectors) {
                add(part, vectors.first * Blocking::lanes, vectors.last * Blocking::lanes);
            });
        else add(scores, 0, rows.count);
    }

    /// Calls f(keys, vectors) for the pieces of a tile with queries in lanes, each with the vectors that see it.
    template <class F>
    static void for_pieces(score_block<Blocking> const& of, F const& f) {
        for (auto const& [vectors, granules] : *of.pieces) f(of.part_of(granules), vectors);
    }

    /// The gradients of one part of the pairs, a plane each.
    static score_block<Blocking> of_part(score_block<Blocking> const& scores, score_block<Blocking> const& ds,
                                         index_t n) {
        auto part = n == 0 ? ds : scores;
        if (n > 0) part.scores += n * scores.plane_stride;
        return part;
    }

    /// Sums over features for each pair, back to the features: of_rows is (rows, width), of_key(k) one row; by their
    /// factors where by_factors(pair, n, amounts) takes the nth. With keys in lanes.
    template <class OfKey, class ByFactors>
    static void add_pairs(context_type const& context, rows_type const& rows, keys_type const& keys,
                          score_block<Blocking> const& scores, score_block<Blocking> const& ds, T* of_rows,
                          OfKey const& of_key, share const& tables, ByFactors const& by_factors) {
        index_t n = 0;
        plan::for_each_part(context.spec.score.parts.pairs, [&](auto const& pair) {
            auto const part = of_part(scores, ds, products + n);
            if constexpr (reached<decltype(pair.body)>)
                if (!by_factors(pair, n, part)) add_pair(context, rows, keys, part, pair, of_rows, of_key, tables);
            ++n;
        });
    }

    /// One sum, pair by pair, features in lanes.
    template <class Pair, class OfKey>
    static void add_pair(context_type const& context, rows_type const& rows, keys_type const& keys,
                         score_block<Blocking> const& part, Pair const& pair, T* of_rows, OfKey const& of_key,
                         share const& tables) {
        auto const span = context.span_of(pair);
        for_runs(
            context.operands.key, keys.rows(part.first, part.count), keys.loaded(), [&](auto const& run, index_t from) {
                for (index_t k = 0; k < run.count; ++k)
                    for (index_t r = 0; r < rows.count; ++r) {
                        T const amount = part.scores[r * part.stride + from + k];
                        if (amount == T{0}) continue;
                        auto const& coordinates = rows.coordinates[static_cast<std::size_t>(r)];
                        index_t const key = part.first + from + k;
                        cotangents const to{of_rows + r * width(context) + span.first, of_key(key) + span.first,
                                            tables};
                        to.backpropagate_features(
                            pair.body, names_of_index{coordinates, key}, query_of(context, coordinates) + span.first,
                            run.first + k * run.stride + span.first, span.count, kernel::one_amount<T, Arch>{amount});
                    }
            });
    }

    /// The gradient of a row: d_factors is sum_k ds B for each product, (products, width) from the first feature of the
    /// product on, which is overwritten; terms are their sums, at a distance of Blocking::rows. `to` are its features;
    /// `mapped` has room for a row.
    static void finish_row(context_type const& context, kernel::row_coordinates const& coordinates, T const* scales,
                           T* d_factors, T const* terms, T* to, T* mapped, share const& tables) {
        auto const* const query = query_of(context, coordinates);
        kernel::single_environment<T, Arch, query_element, query_element> const names{
            {coordinates, index_t{0}}, query, query, coordinates.dim, coordinates.dim};
        for_products(context, [&](auto const& p, index_t n) {
            auto const [first, count] = context.span_of(p);
            T* const amounts = d_factors + n * width(context);
            T const scale = scales[n * Blocking::rows];
            if constexpr (reached<decltype(p.scale)>) {
                map_query(context, coordinates, p, T{1}, mapped);
                T sum{0};
                for (index_t c = 0; c < count; ++c)
                    if (amounts[c] != T{0}) sum += amounts[c] * mapped[offset(context, p) + c];
                backpropagate(p.scale, names, sum, cotangents{to, nullptr, tables});
            }
            for (index_t c = 0; c < count; ++c)
                if (amounts[c] != T{0}) amounts[c] *= scale;
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(p.of_query)>, q_t>) {
                for (index_t c = 0; c < count; ++c) to[first + c] += amounts[c];
            } else {
                cotangents const from{to + first, nullptr, tables};
                from.backpropagate_features(p.of_query, names_of_index{coordinates, 0}, query + first, query + first,
                                            count, kernel::amount_of_each<T, Arch>{amounts});
            }
        });
        plan::for_each_part(context.spec.score.parts.rows, [&](auto const& term) {
            backpropagate(term.expression, names, *terms, cotangents{to, nullptr, tables});
            terms += Blocking::rows;
        });
    }

    /// The gradient of a key: d_factors(n) is scale * ds^T A of product n, where its key is mapped; terms are their
    /// sums for one head, at a distance of `stride`.
    template <class Element, class DFactors>
    static void finish_key_products(context_type const& context, kernel::row_coordinates const& coordinates,
                                    index_t key, Element const* features, DFactors const& d_factors, T* to,
                                    share const& tables) {
        for_products(context, [&](auto const& p, index_t n) {
            if constexpr (!has_plain_key<decltype(p)>) {
                auto const [first, count] = context.span_of(p);
                cotangents const from{nullptr, to + first, tables};
                from.backpropagate_features(p.of_key, names_of_index{coordinates, key}, features + first,
                                            features + first, count, kernel::amount_of_each<T, Arch>{d_factors(n)});
            }
        });
    }
    template <class Element>
    static void finish_key_terms(context_type const& context, kernel::row_coordinates const& coordinates, index_t key,
                                 Element const* features, T const* terms, index_t stride, T* to, share const& tables) {
        kernel::single_environment<T, Arch, Element, Element> const names{
            {coordinates, key}, features, features, context.key_features, context.key_features};
        plan::for_each_part(context.spec.score.parts.keys, [&](auto const& term) {
            backpropagate(term.expression, names, *terms, cotangents{nullptr, to, tables});
            terms += stride;
        });
    }

private:
    static query_element const* query_of(context_type const& context, kernel::row_coordinates const& coordinates) {
        return context.operands.query.place(coordinates.batch, coordinates.head, coordinates.q_idx, 0);
    }
};

}  // namespace fovea::FOVEA_SET::driver
