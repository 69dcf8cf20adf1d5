// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over features with rows of a table, such as vectors of distances, by way of a matrix product: of the queries of
// a tile with the rows that its pairs may choose, from which each pair takes its number.
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/block_cache.hpp>
#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/table_panels.hpp>
#include <fovea/expr/bound.hpp>
#include <fovea/kernel/row_products.hpp>
#include <fovea/plan/table_products.hpp>

#include <algorithm>
#include <optional>

namespace fovea::FOVEA_SET::driver {

/// A term sum_f A_f R_f, with A of the query and R the row of a table that the pair chooses along one axis.
///
/// The product A R^T of a tile is computed for all rows between the least and the greatest that interval arithmetic
/// finds for its pairs: of vectors by the distance of query and key, as many as queries and keys, less one. Each pair
/// takes one of these numbers, in vectors where rows follow each other as keys do. Rows stay packed for the tiles that
/// follow. Sources: Huang et al. 2019 (Music Transformer) and Dai et al. 2019, appendix B, for distances.
template <class Call>
class table_products {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using tile = key_lanes_of<Call>;
    using context_type = context_of<Call, tile>;
    using rows_type = tile_rows<tile>;
    using keys_type = head_keys<tile>;
    using product = kernel::number_product<T, Arch>;
    using panels = table_panels<tile>;
    template <class Pair>
    using product_of = decltype(plan::row_product_of(std::declval<Pair const&>().body));
    template <class Pair>
    using element_of = std::remove_cvref_t<decltype(*std::declval<product_of<Pair> const&>().table().data)>;

public:
    /// How many rows more than keys a product may have, in multiples: so much faster it is than sums pair by pair.
    static constexpr index_t most_rows_of_key = 4;

    /// The rows that pairs of a tile with `count` keys from a position on may choose; none where they are too many, or
    /// those of other heads.
    template <class Pair>
    static std::optional<rows_of_table<element_of<Pair>>> rows_for(context_type const& context, rows_type const& rows,
                                                                   Pair const& pair, index_t first, index_t count) {
        auto const term = plan::row_product_of(pair.body);
        auto const& table = term.table();
        if (!plan::multiplies_row(context.planned, pair) || table.empty()) return std::nullopt;
        index_t const padded = round_up(count, tile::lanes);
        auto const chosen = chosen_by(context, rows, term, first, padded);
        index_t const size = chosen.hi - chosen.lo + 1;
        if (size > panels::width - 2 * tile::panel || size > most_rows_of_key * padded) return std::nullopt;
        auto const* const start = row_place(term, table, rows.coordinates[0], 0);
        return rows_of_table<element_of<Pair>>{start, table.stride(decltype(term)::axis), chosen};
    }
    /// The rows between the least and the greatest that pairs of a tile and these keys choose. Where more than a panel
    /// of rows is at stake, tables that an index reads are looked at, such as buckets of distances.
    template <class Term>
    static interval<index_t> chosen_by(context_type const& context, rows_type const& rows, Term const& term,
                                       index_t first, index_t count) {
        index_t const last = term.table().extent(Term::axis) - 1;
        box where = rows.span(context, 0, rows.count);
        where.kv_idx = {first, first + count - 1};
        return chosen_rows<T>(term.index(), where, last, last < tile::panel ? 0 : rows.count * count);
    }

    /// Where a row begins, along the axis of pairs, of the table of a term, or of what is beside it.
    template <class Term, class Element, int Rank>
    static Element* row_place(Term const& term, view<Element, Rank> const& table,
                              kernel::row_coordinates const& coordinates, index_t row) {
        kernel::index_environment<T, Arch, index_t> const names{coordinates, 0};
        return with_children(term.row, [&](auto const&, auto const&... indices) {
            index_t offset = row * table.stride(Term::axis);
            int axis = 0;
            auto const add = [&](auto const& index) {
                if (axis != Term::axis)
                    offset += clamped_index(static_cast<index_t>(evaluate(index, names)), table.extent(axis))
                            * table.stride(axis);
                ++axis;
            };
            (add(indices), ...);
            return table.data + offset;
        });
    }

    /// A of the nth term for the rows of a tile; sources[r] are the features of row r. `to` is as queries of products
    /// are, packed or for keys in place.
    template <class Pair, class Element>
    static void prepare(context_type const& context, rows_type const& rows, Pair const& pair,
                        Element const* const* sources, T* to) {
        auto const term = plan::row_product_of(pair.body);
        auto const [first_feature, features] = context.span_of(pair);
        auto const row = [&, at = first_feature](index_t r) FOVEA_LAMBDA { return sources[r] + at; };
        auto const base = [&](index_t r) FOVEA_LAMBDA {
            return kernel::index_environment<T, Arch, index_t>{rows.coordinates[static_cast<std::size_t>(r)], 0};
        };
        if (plan::compiled.transposed_queries && !is_in_place(context))
            return product::transpose(term.factor, row, base, kernel::unscaled{},
                                      {.count = rows.count,
                                       .padded_rows = rows.width,
                                       .available = rows.count,
                                       .features = features,
                                       .first = to,
                                       .stride = rows.width});
        std::fill_n(to, round_up(features, tile::lanes) * rows.width, T{0});
        for (index_t r = 0; r < rows.count; ++r)
            product::for_packs(term.factor, row(r), base(r), T{1}, features, [&](index_t pack, auto const& value) {
                value.store(to + (pack * rows.width + r) * tile::lanes);
            });
    }

    /// The sums of the nth term with a run of keys; false where they are not for a product. `queries` is what prepare
    /// has made.
    template <class Pair>
    static bool multiply(context_type const& context, rows_type const& rows, keys_type const& keys, Pair const& pair,
                         index_t nth, T const* queries, score_block<tile> const& to, kernel::prefetch_queue& next) {
        auto const of = rows_for(context, rows, pair, to.first, to.count);
        index_t const features = context.span_of(pair).count;
        if (!of || features == 0) return false;
        T* const products = keys.tables().products();
        index_t first = of->rows.lo;  // whose number is the first of the products
        if (is_in_place(context)) {
            using in_place = typename product::template keys_in_place<kernel::even_rows<element_of<Pair>>>;
            contract_stored<Arch, T>(in_place{{of->at(first), of->stride}},
                                     {queries, rows.width, of->count(), features, products, panels::width});
        } else {
            index_t const first_panel = first / tile::panel, last_panel = of->rows.hi / tile::panel;
            index_t const all = plan::row_product_of(pair.body).table().extent(product_of<Pair>::axis);
            first = first_panel * tile::panel;
            for (index_t n = first_panel; n <= last_panel; ++n)
                packed_products<product>::contract(
                    {.queries = queries,
                     .keys = keys.tables().panel_of(nth, of->first, n,
                                                    [&](T* packed) { pack(*of, n, all, features, packed); }),
                     .first = 0,
                     .last = tile::nv,
                     .features = features,
                     .mr = static_cast<int>(rows.width),
                     .scales = nullptr,
                     .scores = products + (n - first_panel) * tile::panel,
                     .stride = panels::width},
                    next);
        }
        auto const term = plan::row_product_of(pair.body);
        for (index_t r = 0; r < rows.count; ++r)
            kernel::row_numbers<decltype(term)::axis, T, Arch>(
                term.row, rows.coordinates[static_cast<std::size_t>(r)], to.first, to.packs(),
                kernel::numbers_of_rows<T const>{products + r * panels::width + of->rows.lo - first, of->rows},
                to.scores + r * to.stride);
        return true;
    }

private:
    static bool is_in_place(context_type const& context) {
        return !Call::packs_keys || context.planned.keys == plan::reading::in_place;
    }

    template <class Element>
    static void pack(rows_of_table<Element> const& of, index_t n, index_t all, index_t features, T* to) {
        index_t const first = n * tile::panel, count = std::min(all - first, tile::panel);
        product::transpose(
            k_t{}, [&](index_t i) FOVEA_LAMBDA { return of.at(first + i); }, [](index_t) FOVEA_LAMBDA { return 0; },
            kernel::unscaled{},
            {.count = count,
             .padded_rows = tile::panel,
             .available = count,
             .features = features,
             .first = to,
             .stride = tile::panel});
    }
};

}  // namespace fovea::FOVEA_SET::driver
