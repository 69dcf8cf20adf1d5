// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sums over features for each pair of a tile of queries and keys; squared distances from a matrix product, where it
// does not round them away.
#pragma once

#include <fovea/driver/dense/block_mask.hpp>
#include <fovea/driver/dense/key_table_products.hpp>
#include <fovea/driver/dense/pairwise.hpp>
#include <fovea/driver/dense/stored_keys.hpp>
#include <fovea/driver/dense/table_products.hpp>
#include <fovea/kernel/head_sums.hpp>
#include <fovea/kernel/lane_groups.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The pairwise terms of a score: the query side of each, prepared once for the tile, and the sums.
///
/// A squared distance |q - k|^2 is |q - c|^2 + |k - c|^2 - 2 (q - c)(k - c), so that its rounding is that of distances
/// and does not depend on how far from 0 these are. Where a key of a panel is close to a query, as seen from c, or its
/// features are not finite, the sum over features takes the place of the product.
template <class Call>
class pair_sums {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Pairs = decltype(Call::parts::pairs);
    using tile = key_lanes_of<Call>;
    using context_type = context_of<Call, tile>;
    using rows_type = tile_rows<tile>;
    using keys_type = head_keys<tile>;
    using stored = stored_keys<Call>;
    using element = typename Call::query_element;

public:
    static constexpr index_t count = plan::count_of<Pairs>;
    static constexpr index_t squares = plan::squares_of<Pairs>;
    static constexpr index_t tables = plan::query_row_products_of<Pairs>;
    static constexpr index_t query_factors = plan::query_factors_of<Pairs>;

    /// The query sides of a tile; sources[r] are the features of row r.
    static void prepare(context_type const& context, rows_type& rows, element const* const* sources) {
        rows.factorable = true;
        index_t factor = 0, square = 0;
        [[maybe_unused]] index_t table = 0;
        plan::for_each_part(context.spec.score.parts.pairs, [&](auto const& pair) {
            using Pair = std::remove_cvref_t<decltype(pair)>;
            auto const [first_feature, features] = context.span_of(pair);
            T* const first = factors_of(context, rows, factor);
            plan::for_each_part(pair.factors.queries, [&](auto const& body) {
                for (index_t r = 0; r < rows.count; ++r) {
                    T* const to = factors_of(context, rows, factor) + r * features;
                    kernel::index_environment<T, Arch, index_t> const base{
                        rows.coordinates[static_cast<std::size_t>(r)], 0};
                    kernel::scatter_features<T, Arch>(body, base, sources[r] + first_feature, features, T{1}, to, 1);
                    if constexpr (Pair::uses_exponentials)
                        rows.factorable = rows.factorable && kernel::stays_in_range(body, to, features);
                }
                ++factor;
            });
            if constexpr (Pair::sums_squares) {
                if (plan::multiplies_squares(context.planned, features)) {
                    auto const about = centre_of_queries<Call>(context, rows.heads, pair, rows.centre);
                    centre_rows(rows, first, features, about, square_of(context, rows, square));
                }
                ++square;
            }
            if constexpr (Pair::query_times_row)
                table_products<Call>::prepare(context, rows, pair, sources, table_queries(context, rows, table++));
        });
    }

    /// The sums with a run of keys of a block: whole panels.
    static void add_up(context_type const& context, rows_type const& rows, keys_type const& keys,
                       key_run<tile> const& at, score_block<tile> const& to, next_lines& next) {
        index_t plane = stored::products, key_plane = plane, factor = 0, square = 0;
        [[maybe_unused]] index_t table = 0, key_table = 0;
        index_t const within = to.first - keys.first(at.block), most = context.summed.most;
        plan::for_each_part(context.spec.score.parts.pairs, [&]<class Pair>(Pair const& pair) {
            auto scores = to;
            scores.scores += plane++ * to.plane_stride;
            if constexpr (Pair::query_times_row) {
                index_t const n = table++;
                if (table_products<Call>::multiply(context, rows, keys, pair, n, table_queries(context, rows, n),
                                                   scores, next.queue()))
                    return;
            }
            if constexpr (Pair::key_times_row) {
                key_table_products<Call>::multiply(
                    context, rows, keys, at.block, pair, key_table++, scores,
                    [&](score_block<tile> const& part) { compare_by_feature(context, rows, keys, pair, part); });
            } else if constexpr (Pair::reads_rows) {
                compare_by_feature(context, rows, keys, pair, scores);
            } else {
                index_t const features = context.span_of(pair).count;
                kernel::pair_factors<T> const factors{factors_of(context, rows, factor), tile::rows * most,
                                                      keys.keys(at.block, key_plane) + within * features,
                                                      tile::block_keys * most, features};
                constexpr bool as_written = Pair::uses_exponentials && Call::fixed_order;  // ranges are of a block
                if (!as_written && rows.factorable && keys.factorable(at.block)) {
                    auto const sum = [&](index_t k) { compare_factored(rows, pair.factors.body, factors, scores, k); };
                    bool multiplies = false;
                    if constexpr (Pair::sums_squares) {
                        multiplies = plan::multiplies_squares(context.planned, features);
                        if (multiplies)
                            multiply<Pair::sign>(
                                rows, pair.factors.body, factors, square_of(context, rows, square),
                                {keys.keys(at.block, stored::products + stored::factors + square) + within * features,
                                 keys.norms(at.block) + square * tile::block_keys + within},
                                scores, next.queue(), sum);
                        ++square;
                    }
                    for (index_t k = 0; k < to.count && !multiplies; k += tile::panel) sum(k);
                } else {
                    compare_directly(stored(context, keys), rows, pair, keys.last(at.block), scores);
                }
                key_plane += plan::count_of<decltype(pair.factors.keys)>;
                factor += plan::count_of<decltype(pair.factors.queries)>;
            }
        });
    }

private:
    /// A side of the product of a squared distance, about its centre.
    struct square_side {
        T* columns;  // of queries (features, width), of keys (panels, features, panel)
        T* norms;    // one for each row or key
    };

    static T* factors_of(context_type const& context, rows_type const& rows, index_t factor) {
        return rows.pair_factors + factor * tile::rows * context.summed.most;
    }
    static square_side square_of(context_type const& context, rows_type const& rows, index_t square) {
        index_t const plane = round_up(context.summed.most, tile::lanes) * rows.width;
        return {rows.queries + (stored::products + square) * plane, rows.norms + square * tile::rows};
    }
    /// A of the products with tables, after the query sides of products and squares.
    static T* table_queries(context_type const& context, rows_type const& rows, index_t table) {
        return rows.queries
             + (stored::products + squares + table) * round_up(context.summed.most, tile::lanes) * rows.width;
    }
    static void centre_rows(rows_type const& rows, T const* factors, index_t features, centre<T> const& about,
                            square_side const& to) {
        std::fill_n(to.columns, features * rows.width, T{0});
        for (index_t r = 0; r < rows.count; ++r, factors += features) {
            T norm{0};
            for (index_t f = 0; f < features; ++f) {
                T const x = (factors[f] - about.place[f]) * about.factor[f];
                to.columns[tile::place_of_query(f, r, rows.width)] = x;
                norm += x * x;
            }
            to.norms[r] = norm;
        }
    }

    /// The squared distances of all panels, by sum(k) where a product does not serve.
    template <int Sign, class Body, class Sum>
    static void multiply(rows_type const& rows, Body const& body, kernel::pair_factors<T> const& factors,
                         square_side const& queries, square_side const& keys, score_block<tile> const& to,
                         kernel::prefetch_queue& next, Sum const& sum) {
        back_off products;
        for (index_t k = 0; k < to.count; k += tile::panel) {
            if (!products.is_due()) {
                sum(k);
                continue;
            }
            packed_products<kernel::number_product<T, Arch>>::contract({.queries = queries.columns,
                                                                        .keys = keys.columns + k * factors.features,
                                                                        .first = 0,
                                                                        .last = tile::nv,
                                                                        .features = factors.features,
                                                                        .mr = static_cast<int>(rows.width),
                                                                        .scales = nullptr,
                                                                        .scores = to.scores + k,
                                                                        .stride = to.stride},
                                                                       next);
            bool close[tile::rows];
            index_t found = 0;
            for (index_t r = 0; r < rows.count; ++r) {
                close[r] = !kernel::complete_squares<tile::nv, T, Arch>(queries.norms[r], keys.norms + k, T{2 * Sign},
                                                                        to.scores + r * to.stride + k);
                found += close[r] ? 1 : 0;
            }
            bool const few = 2 * found <= rows.count;
            products.learn(few);
            if (!few) sum(k);
            else
                for (index_t r = 0; found > 0 && r < rows.count; ++r)
                    if (close[r]) compare_rows<1>(rows, body, factors, to, r, k);
        }
    }

    /// A panel from its first key k on, a few rows at a time so that their sums stay in registers.
    template <class Body>
    static void compare_factored(rows_type const& rows, Body const& body, kernel::pair_factors<T> const& from,
                                 score_block<tile> const& to, index_t k) {
        constexpr int at_once = 2;
        index_t r = 0;
        for (; r + at_once <= rows.count; r += at_once) compare_rows<at_once>(rows, body, from, to, r, k);
        for (; r < rows.count; ++r) compare_rows<1>(rows, body, from, to, r, k);
    }
    template <int Rows, class Body>
    static void compare_rows(rows_type const& rows, Body const& body, kernel::pair_factors<T> from,
                             score_block<tile> const& to, index_t r, index_t k) {
        from.queries += r * from.features;
        from.keys += k * from.features;
        kernel::pairwise<Rows, tile::nv, T, Arch>(body, rows.coordinates.data() + r,
                                                  kernel::positions<T, Arch>{to.first + k}, from,
                                                  to.scores + r * to.stride + k, to.stride);
    }

    /// Pair by pair with features in lanes: rows of tables that pairs choose are contiguous, and nothing else is.
    template <class Pair>
    static void compare_by_feature(context_type const& context, rows_type const& rows, keys_type const& keys,
                                   Pair const& pair, score_block<tile> const& to) {
        auto const [first_feature, features] = context.span_of(pair);
        index_t const skipped = first_feature, summed = features;
        element const* queries[tile::rows];
        for (index_t r = 0; r < rows.count; ++r) {
            auto const& row = rows.coordinates[static_cast<std::size_t>(r)];
            queries[r] = context.operands.query.place(row.batch, row.head, row.q_idx, 0) + skipped;
        }
        for_runs(context.operands.key, keys.rows(to.first, to.count), keys.loaded(),
                 [&](auto const& run, index_t from) {
                     for (index_t r = 0; r < rows.count; ++r)
                         for (index_t k = 0; k < run.count; k += tile::lanes) {
                             kernel::pack<T, Arch> sums[static_cast<std::size_t>(tile::lanes)];
                             for (index_t i = 0; i < tile::lanes; ++i) {
                                 index_t const at = std::min(k + i, run.count - 1);
                                 kernel::index_environment<T, Arch, index_t> const names{
                                     rows.coordinates[static_cast<std::size_t>(r)], to.first + from + at};
                                 sums[i] = kernel::sums_in_lanes<T, Arch>(
                                     pair.body, names, queries[r], run.first + at * run.stride + skipped, summed);
                             }
                             kernel::lane_groups_of<T, Arch>::sums(sums).store(to.scores + r * to.stride + from + k);
                         }
                 });
    }

    /// The body as it was written, feature by feature: for values beyond the range of the factors.
    template <class Pair>
    static void compare_directly(stored const& keys, rows_type const& rows, Pair const& pair, index_t end,
                                 score_block<tile> const& to) {
        for (index_t r = 0; r < rows.count; ++r)
            for (index_t k = 0; k < round_up(to.count, tile::panel); ++k)
                to.scores[r * to.stride + k] =
                    to.first + k < end ? keys.compare(pair, rows.coordinates[static_cast<std::size_t>(r)], to.first + k)
                                       : T{0};
    }
};

}  // namespace fovea::FOVEA_SET::driver
