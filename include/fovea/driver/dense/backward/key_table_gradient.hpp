// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of sums over features of keys with rows of a table, by way of matrix products: those of the numbers
// that pairs have taken, back to keys and to the rows.
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/backward/factor_gradient.hpp>
#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/key_table_products.hpp>
#include <fovea/driver/dense/table_panels.hpp>
#include <fovea/kernel/packing.hpp>
#include <fovea/kernel/row_products.hpp>
#include <fovea/plan/score_parts.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// A term sum_f B_f R_f (driver/dense/key_table_products.hpp) of the rows of a tile and a panel of keys. Amounts of
/// pairs are added up for each row of the table and key, E = sum over queries that choose the row, and two products go
/// back:
///
///     dB += E^T R,   dR += E B
///
/// Pairs that are not for a product, and rows or keys that are not finite, go back pair by pair.
template <class Call, class Blocking>
class key_table_gradient {
    using T = typename Blocking::number;
    using Arch = typename Blocking::architecture;
    using context_type = context_of<Call, Blocking>;
    using rows_type = tile_rows<Blocking>;
    using keys_type = head_keys<Blocking>;
    using of_tables = key_table_products<Call>;
    using product = kernel::number_product<T, Arch>;
    using names_of_index = kernel::index_environment<T, Arch, index_t>;
    static constexpr index_t lanes = Blocking::lanes, panel = Blocking::panel,
                             capacity = key_table_panels<Blocking>::capacity;

public:
    static constexpr index_t count =
        Blocking::queries_in_lanes ? 0 : plan::key_row_products_of<decltype(Call::parts::pairs)>;

    key_table_gradient(context_type const& context, arena& memory)
        : width_(count > 0 ? round_up(context.summed.most, lanes) : 0),
          amounts_(memory.template take<T>(count > 0 ? padded * panel : 0)),
          rows_(memory.template take<T>(capacity * width_)),
          keys_(memory.template take<T>(panel * width_)),
          d_keys_(memory.template take<T>(panel * width_)),
          d_rows_(memory.template take<T>(padded * width_)) {}

    /// Goes back from the amounts of some pairs of term `Pair`; false where that is no product with keys. to_key(k, c)
    /// are leaves of the features of a key from c on; by_feature(part) goes back pair by pair.
    template <class Pair, class Tables, class ToKey, class ByFeature>
    bool add(context_type const& context, rows_type const& rows, keys_type const& keys,
             score_block<Blocking> const& amounts, Pair const& pair, Tables const& tables, bool of_keys,
             ToKey const& to_key, ByFeature const& by_feature) const {
        if constexpr (!(Pair::key_times_row && count > 0)) {
            return false;
        } else {
            auto const term = plan::row_product_of(pair.body);
            constexpr bool reaches_keys =
                reaches<decltype(term.factor),
                        typename std::remove_cvref_t<decltype(to_key(index_t{0}, index_t{0}))>::cotangent_kinds>;
            bool const to_keys = reaches_keys && (of_keys || reads_a_table<decltype(term.factor)>);
            bool to_table = false;
            tables.for_each_sum(term.table(), [&](auto const&) { to_table = true; });
            if (!to_keys && !to_table) return true;
            auto const [first_feature, features] = context.span_of(pair);
            auto const coordinates = context.coordinates(keys.heads(), 0);
            auto const for_keys = [&, skipped = first_feature](score_block<Blocking> const& part, auto const& f) {
                for_runs(context.operands.key, keys.rows(part.first, part.count), keys.loaded(),
                         [&](auto const& run, index_t from) {
                             for (index_t i = 0; i < run.count; ++i)
                                 f(from + i, names_of_index{coordinates, part.first + from + i},
                                   run.first + i * run.stride + skipped);
                         });
            };
            for (index_t k = 0; k < amounts.count; k += panel) {
                auto const part = amounts.part(k, panel);
                auto const of = of_tables::rows_for(context, rows, pair, part.first, part.count, capacity);
                if (of) {
                    std::fill_n(keys_, panel * width_, T{0});
                    for_keys(part, [&, n = features](index_t i, auto const& names, auto const* key) {
                        kernel::scatter_features<T, Arch>(term.factor, names, key, n, T{1}, keys_ + i * width_, 1);
                    });
                    std::fill_n(rows_, of->count() * width_, T{0});
                    for (index_t i = 0; i < of->count(); ++i)
                        kernel::convert_row<T, Arch>(of->at(of->rows.lo + i), features, rows_ + i * width_);
                }
                if (!of || !(finite(rows_, of->count()) && finite(keys_, part.count))) {
                    by_feature(part);
                    continue;
                }
                add_up(rows, part, term, of->rows);
                rows_of_few const chosen(context, rows, term, part, of->rows);
                if constexpr (reaches_keys) {
                    if (to_keys) {
                        multiply_rows(part.count, chosen);
                        for_keys(part, [&, n = features, skipped = first_feature](index_t i, auto const& names,
                                                                                  auto const* key) {
                            to_key(part.first + i, skipped)
                                .backpropagate_features(term.factor, names, key, key, n,
                                                        kernel::amount_of_each<T, Arch>{d_keys_ + i * width_});
                        });
                    }
                }
                tables.for_each_sum(term.table(), [&, n = features](auto const& to) {
                    auto const start = table_products<Call>::row_place(term, to, rows.coordinates[0], of->rows.lo);
                    multiply_keys(part.count, of->count(), chosen, n, start, to.stride(decltype(term)::axis));
                });
            }
            return true;
        }
    }

private:
    static constexpr index_t padded = round_up(capacity, Blocking::rows);  // rows of whole register tiles
    static constexpr index_t few = std::max<index_t>(panel / 4, 4);

    /// The rows that a few keys of a panel choose each, counted from the first of all: by distance a third of those.
    struct rows_of_few {
        interval<index_t> of[static_cast<std::size_t>(ceil_div(panel, few))];

        template <class Term>
        rows_of_few(context_type const& context, rows_type const& rows, Term const& term,
                    score_block<Blocking> const& part, interval<index_t> const& all) {
            for (index_t k = 0; k < part.count; k += few) {
                auto const found =
                    table_products<Call>::chosen_by(context, rows, term, part.first + k, std::min(few, part.count - k));
                // More may be known of all keys than of some: of a table, whose elements are looked at for many pairs.
                of[k / few] = {std::max(found.lo, all.lo) - all.lo, std::min(found.hi, all.hi) - all.lo};
            }
        }
    };

    bool finite(T const* from, index_t n) const {
        return kernel::all_finite<T, Arch>([&](index_t i) { return from + i * width_; }, n, width_);
    }
    /// E: (rows of the table, panel).
    template <class Term>
    void add_up(rows_type const& rows, score_block<Blocking> const& amounts, Term const& term,
                interval<index_t> const& chosen) const {
        std::fill_n(amounts_, round_up(chosen.hi - chosen.lo + 1, Blocking::rows) * panel, T{0});
        for (index_t r = 0; r < rows.count; ++r)
            kernel::add_to_row_numbers<Term::axis, T, Arch>(
                term.row, rows.coordinates[static_cast<std::size_t>(r)], amounts.first, amounts.count,
                amounts.scores + r * amounts.stride, kernel::numbers_of_keys<T>{{amounts_, chosen}, panel});
    }
    /// dB = E^T R
    void multiply_rows(index_t keys, rows_of_few const& chosen) const {
        std::fill_n(d_keys_, keys * width_, T{0});
        for (index_t k = 0; k < keys; k += few) {
            auto const [first, last] = chosen.of[k / few];
            packed_products<product>::accumulate_transposed({{{amounts_ + first * panel + k, {}, panel},
                                                              last - first + 1,
                                                              {rows_ + first * width_, width_},
                                                              d_keys_ + k * width_,
                                                              width_,
                                                              nullptr},
                                                             width_,
                                                             std::min(few, keys - k),
                                                             Blocking::rows});
        }
    }
    /// dR += E B, some rows at a time.
    void multiply_keys(index_t keys, index_t rows, rows_of_few const& chosen, index_t features, T* to,
                       index_t stride) const {
        T ones[static_cast<std::size_t>(Blocking::rows)];
        std::fill_n(ones, Blocking::rows, T{1});
        std::fill_n(d_rows_, round_up(rows, Blocking::rows) * width_, T{0});
        for (index_t i = 0; i < rows; i += Blocking::rows) {
            index_t first = keys, last = 0;  // that choose one of these rows
            for (index_t k = 0; k < keys; k += few)
                if (auto const& of = chosen.of[k / few]; of.lo < i + Blocking::rows && of.hi >= i)
                    first = std::min(first, k), last = std::min(k + few, keys);
            if (first < last)
                accumulate_few<product>(typename product::step{}, weighted_rows<T, kernel::even_rows<T>>{
                                                                      {{amounts_ + i * panel + first, panel, {}},
                                                                       last - first,
                                                                       {keys_ + first * width_, width_},
                                                                       d_rows_ + i * width_,
                                                                       width_,
                                                                       ones},
                                                                      width_,
                                                                      Blocking::rows,
                                                                      Blocking::rows});
        }
        add_rows<T, Arch>(d_rows_, width_, rows, features, to, stride);
    }

    index_t width_;
    T* amounts_;           // E: (padded, panel)
    T *rows_, *keys_;      // R: (capacity, width), B: (panel, width)
    T *d_keys_, *d_rows_;  // dB: (panel, width), dR: (padded, width)
};

}  // namespace fovea::FOVEA_SET::driver
