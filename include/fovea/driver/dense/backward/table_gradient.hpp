// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of sums over features with rows of a table, by way of matrix products: those of the numbers that pairs
// have taken, back to queries and to the rows.
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/backward/factor_gradient.hpp>
#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/table_panels.hpp>
#include <fovea/driver/dense/table_products.hpp>
#include <fovea/expr/backpropagate.hpp>
#include <fovea/kernel/packing.hpp>
#include <fovea/kernel/product/accumulate.hpp>
#include <fovea/kernel/row_products.hpp>
#include <fovea/plan/score_parts.hpp>

#include <algorithm>
#include <type_traits>

namespace fovea::FOVEA_SET::driver {

/// A term sum_f A_f R_f (driver/dense/table_products.hpp) of the rows of a tile. Amounts of pairs are added up for each
/// row of the table, E = sum over keys that choose it, and two products go back:
///
///     dA += E R,   dR += E^T A
///
/// A goes back to features and tables once for a row of the tile. Pairs that are not for a product, and rows or queries
/// that are not finite, go back pair by pair.
template <class Call, class Blocking>
class table_gradient {
    using T = typename Blocking::number;
    using Arch = typename Blocking::architecture;
    using context_type = context_of<Call, Blocking>;
    using rows_type = tile_rows<Blocking>;
    using pairs_type = decltype(Call::parts::pairs);
    using of_tables = table_products<Call>;
    using panels = table_panels<Blocking>;
    using product = kernel::number_product<T, Arch>;
    using step = typename product::step;
    using names_of_index = kernel::index_environment<T, Arch, index_t>;
    static constexpr index_t lanes = Blocking::lanes;

public:
    static constexpr index_t count = Blocking::queries_in_lanes ? 0 : plan::query_row_products_of<pairs_type>;

    table_gradient(context_type const& context, arena& memory)
        : width_(round_up(context.summed.most, lanes)),
          queries_(memory.template take<T>(count * Blocking::rows * width_)),
          d_queries_(memory.template take<T>(count * Blocking::rows * width_)),
          amounts_(memory.template take<T>(count > 0 ? Blocking::rows * panels::width : 0)),
          sums_(memory.template take<T>(count > 0 ? panels::width * width_ : 0)) {}

    /// The rows of a tile.
    void begin(context_type const& context, rows_type const& rows) {
        std::fill_n(queries_, count * Blocking::rows * width_, T{0});
        std::fill_n(d_queries_, count * Blocking::rows * width_, T{0});
        for_each_term(context, [&](auto const& pair, index_t n) {
            auto const term = plan::row_product_of(pair.body);
            auto const [first, features] = context.span_of(pair);
            for (index_t r = 0; r < rows.count; ++r) {
                auto const& coordinates = rows.coordinates[static_cast<std::size_t>(r)];
                auto const* const row =
                    context.operands.query.place(coordinates.batch, coordinates.head, coordinates.q_idx, 0) + first;
                kernel::scatter_features<T, Arch>(term.factor, names_of_index{coordinates, 0}, row, features, T{1},
                                                  queries(n) + r * width_, 1);
            }
        });
        finite_ = kernel::all_finite<T, Arch>([&](index_t r) { return queries_ + r * width_; }, count * Blocking::rows,
                                              width_);
    }

    /// Goes back from the amounts of some pairs of term `Pair`, the nth of all pairs; false where they are not for a
    /// product.
    template <class Pair, class Tables>
    bool add(context_type const& context, rows_type const& rows, score_block<Blocking> const& amounts, Pair const& pair,
             index_t nth, Tables const& tables) const {
        if constexpr (!(Pair::query_times_row && count > 0)) {
            return false;
        } else {
            auto const of = of_tables::rows_for(context, rows, pair, amounts.first, amounts.count);
            index_t const n = number_of(context, nth), features = context.span_of(pair).count;
            if (!of || !finite_ || features == 0 || of->stride == 0
                || !kernel::all_finite<T, Arch>([&](index_t i) { return of->at(of->rows.lo + i); }, of->count(),
                                                features))
                return false;
            add_up(rows, amounts, pair, of->rows);
            add_to_queries(rows.count, *of, features, d_queries_ + n * Blocking::rows * width_);
            auto const term = plan::row_product_of(pair.body);
            tables.for_each_sum(term.table(), [&](auto const& to) {
                auto const start = of_tables::row_place(term, to, rows.coordinates[0], of->rows.lo);
                add_to_table(rows.count, of->count(), features, queries(n), start, to.stride(decltype(term)::axis));
            });
            return true;
        }
    }

    /// dA of a row, back to features and tables: to(first feature) are leaves from there on.
    template <class To>
    void finish_row(context_type const& context, kernel::row_coordinates const& coordinates, index_t r,
                    To const& to) const {
        auto const* const query =
            context.operands.query.place(coordinates.batch, coordinates.head, coordinates.q_idx, 0);
        for_each_term(context, [&](auto const& pair, index_t n) {
            auto const term = plan::row_product_of(pair.body);
            using leaves = std::remove_cvref_t<decltype(to(index_t{0}))>;
            if constexpr (reaches<decltype(term.factor), typename leaves::cotangent_kinds>) {
                auto const [first, features] = context.span_of(pair);
                to(first).backpropagate_features(
                    term.factor, names_of_index{coordinates, 0}, query + first, query + first, features,
                    kernel::amount_of_each<T, Arch>{d_queries_ + (n * Blocking::rows + r) * width_});
            }
        });
    }

private:
    template <class F>
    static void for_each_term(context_type const& context, F const& f) {
        if constexpr (count > 0) {
            index_t n = 0;
            plan::for_each_part(context.spec.score.parts.pairs, [&]<class Pair>(Pair const& pair) {
                if constexpr (Pair::query_times_row) f(pair, n++);
            });
        }
    }
    /// The number of a term among those that are products.
    static index_t number_of(context_type const& context, index_t nth) {
        index_t n = 0;
        plan::for_each_part(context.spec.score.parts.pairs, [&]<class Pair>(Pair const&) {
            if (nth-- > 0 && Pair::query_times_row) ++n;
        });
        return n;
    }
    T* queries(index_t n) const { return queries_ + n * Blocking::rows * width_; }

    /// E of all rows of the tile: (rows, panels::width).
    template <class Pair>
    void add_up(rows_type const& rows, score_block<Blocking> const& amounts, Pair const& pair,
                interval<index_t> const& chosen) const {
        auto const term = plan::row_product_of(pair.body);
        for (index_t r = 0; r < Blocking::rows; ++r)
            std::fill_n(amounts_ + r * panels::width, round_up(chosen.hi - chosen.lo + 1, lanes), T{0});
        for (index_t r = 0; r < rows.count; ++r)
            kernel::add_to_row_numbers<decltype(term)::axis, T, Arch>(
                term.row, rows.coordinates[static_cast<std::size_t>(r)], amounts.first, amounts.count,
                amounts.scores + r * amounts.stride, kernel::numbers_of_rows<T>{amounts_ + r * panels::width, chosen});
    }
    /// dA += E R
    template <class Element>
    void add_to_queries(index_t rows, rows_of_table<Element> const& of, index_t features, T* to) const {
        kernel::even_rows<Element> const table{of.at(of.rows.lo), of.stride};
        index_t const whole = features - features % lanes;
        T ones[static_cast<std::size_t>(Blocking::rows)];
        std::fill_n(ones, Blocking::rows, T{1});
        if (whole > 0)
            accumulate_few<product>(
                step{},
                weighted_rows<T, kernel::even_rows<Element>>{
                    {{amounts_, panels::width, {}}, of.count(), table, to, width_, ones}, whole, rows, Blocking::rows});
        for (index_t r = 0; r < rows && whole < features; ++r)
            kernel::accumulate_nonzero<T, Arch>(step{}, amounts_ + r * panels::width, of.count(), table.from(0, whole),
                                                to + r * width_ + whole, features - whole);
    }
    /// dR += E^T A: straight to rows of whole vectors, by memory of their own to others.
    void add_to_table(index_t rows, index_t chosen, index_t features, T* of_rows, T* to, index_t stride) const {
        bool const direct = features % lanes == 0;
        if (!direct) std::fill_n(sums_, chosen * width_, T{0});
        index_t const width = round_up(features, lanes);
        packed_products<product>::accumulate_transposed({{{amounts_, {}, panels::width},
                                                          rows,
                                                          {of_rows, width_},
                                                          direct ? to : sums_,
                                                          direct ? stride : width_,
                                                          nullptr},
                                                         width,
                                                         chosen,
                                                         Blocking::rows});
        if (!direct) add_rows<T, Arch>(sums_, width_, chosen, features, to, stride);
    }

    index_t width_;
    T *queries_, *d_queries_;  // A and dA (terms, rows, width)
    T* amounts_;               // E of one term (rows, panels::width)
    T* sums_;                  // (panels::width, width)
    bool finite_ = true;
};

}  // namespace fovea::FOVEA_SET::driver
