// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/packed_keys.hpp>
#include <fovea/expr/bound.hpp>
#include <fovea/kernel/contract.hpp>
#include <fovea/kernel/pairwise.hpp>
#include <fovea/kernel/transform.hpp>

#include <algorithm>
#include <functional>

namespace fovea::driver {

/// Calls f(std::integral_constant<int, N>) with the smallest register tile of at least `rows` rows.
template <class Tile, std::size_t I = 0, class F>
void with_rows(index_t rows, F&& f) {
    if constexpr (I + 1 == std::size(Tile::row_steps)) f(std::integral_constant<int, Tile::row_steps[I]>{});
    else if (rows <= Tile::row_steps[I]) f(std::integral_constant<int, Tile::row_steps[I]>{});
    else with_rows<Tile, I + 1>(rows, f);
}

/// Up to `tile::rows` queries of one key/value head, ready to be compared: query heads that share keys are rows
/// of one tile, so keys are read once per group.
template <class T, class Arch, class Parts, class Operands>
struct row_tile {
    using tile = plan::tile<T, Arch>;
    using packed = packed_keys<T, Arch, Parts, Operands>;
    static constexpr index_t query_factors = plan::query_factors_of<decltype(Parts::pairs)>;
    static constexpr index_t row_terms = plan::count_of<decltype(Parts::rows)>;

    index_t first_row = 0;
    index_t rows = 0;
    int step = tile::rows;                       // rows of the register tile
    kernel::row_facts facts[tile::rows];
    T terms[static_cast<std::size_t>(tile::rows * std::max<index_t>(row_terms, 1))];
    T* products = nullptr;                       // (products, features, step)
    T* queries = nullptr;                        // (query factors, rows, features), for pairwise terms
    bool factorable = true;                      // no exponential of a query left its range

    static index_t room(index_t features) { return packed::products * features * tile::rows; }
    static index_t query_room(index_t features) { return query_factors * features * tile::rows; }

    void prepare(Operands const& operands, Parts const& parts, index_t batch, index_t key_head, index_t first,
                 index_t count) {
        first_row = first;
        rows = count;
        with_rows<tile>(count, [&](auto n) { step = n; });
        factorable = true;
        for (index_t r = 0; r < step; ++r) {
            index_t const row = std::min(first + r, first + count - 1);
            facts[r] = {batch, key_head * operands.group() + row % operands.group(), row / operands.group(),
                        operands.queries(), operands.keys(), operands.features()};
            if (r < count) prepare_row(operands, parts, r);
        }
        prepare_products(operands, parts);
    }

    /// What the rows and a range of keys span, for interval readings.
    box span(Operands const& operands, index_t first_key, index_t last_key) const {
        auto const& low = facts[0];
        auto const& high = facts[rows - 1];
        index_t const head = low.head / operands.group() * operands.group();
        bool const one_head = operands.group() == 1 || rows == 1;
        return {low.batch,
                one_head ? interval<index_t>{low.head} : interval<index_t>{head, head + operands.group() - 1},
                {low.q_idx, high.q_idx},
                {first_key, last_key - 1},
                low.q_len,
                low.kv_len,
                low.dim};
    }

    /// Scores of the panels [first, last) of a block into `scores`: (planes, rows, stride); plane 0 is the result.
    /// mixed[p] tells for each panel whether the mask has to be applied.
    template <class Score, class Predicate>
    void score(Score const& score, Predicate const& predicate, packed const& keys, index_t block, index_t first,
               index_t last, bool const* mixed, T* scores, index_t stride, index_t plane_stride) const {
        index_t const features = facts[0].dim;
        for (index_t p = first; p < last; ++p) {
            T* const panel = scores + p * tile::panel;
            index_t plane = 0;
            for (; plane < packed::products; ++plane)
                with_rows<tile>(step, [&](auto n) {
                    kernel::contract<n(), tile::vectors, T, Arch>(products + plane * features * step,
                                                                  keys.keys(block, plane) + p * tile::panel * features,
                                                                  features, panel + plane * plane_stride, stride);
                });
            index_t key_plane = plane, query_factor = 0;
            plan::for_each_part(score.parts.pairs, [&](auto const& pair) {
                T* const to = panel + plane++ * plane_stride;
                if (factorable && keys.factorable(block))
                    compare_factored(pair.factors.body, keys, block, key_plane, query_factor, p, to, stride);
                else compare_directly(pair.body, keys, block, p, to, stride);
                key_plane += plan::count_of<decltype(pair.factors.keys)>;
                query_factor += plan::count_of<decltype(pair.factors.queries)>;
            });
        }
        if (plan::is_bare_product<std::remove_cvref_t<decltype(score.pointwise)>> && std::none_of(mixed + first, mixed + last, std::identity{})) return;
        for (index_t r = 0; r < rows; ++r) {
            T const* const key_terms = packed::key_terms > 0 ? keys.terms(block, facts[r].head % keys.group()) : scores;
            for (index_t p = first; p < last; ++p) {
                index_t const column = p * tile::panel;
                kernel::row_parts<T> const at{scores + r * stride + column, plane_stride, packed::products, terms + r * row_terms,
                                              key_terms + column, packed::term_stride()};
                index_t const key = keys.first(block) + column;
                if (mixed[p])
                    kernel::transform<true, T, Arch>(score.pointwise, predicate, facts[r], at, key, tile::vectors);
                else
                    kernel::transform<false, T, Arch>(score.pointwise, predicate, facts[r], at, key, tile::vectors);
            }
        }
    }

private:
    void prepare_row(Operands const& operands, Parts const& parts, index_t r) {
        auto const& row = facts[r];
        auto const* features = operands.query.place(row.batch, row.head, row.q_idx, 0);
        using element = std::remove_cvref_t<decltype(*features)>;
        kernel::single_environment<T, Arch, element, element> const here{
            {row, index_t{0}}, features, features, row.dim, row.dim};
        index_t term = 0;
        plan::for_each_part(parts.rows, [&](auto const& t) {
            terms[r * row_terms + term++] = static_cast<T>(evaluate(t.expression, here));
        });
        index_t factor = 0;
        plan::for_each_part(parts.pairs, [&](auto const& pair) {
            plan::for_each_part(pair.factors.queries, [&](auto const& body) {
                T* const to = queries + (factor++ * tile::rows + r) * row.dim;
                kernel::index_environment<T, Arch, index_t> const& base = here;
                kernel::scatter_features<T, Arch>(body, base, features, row.dim, T{1}, to, 1);
                if constexpr (std::remove_cvref_t<decltype(pair)>::uses_exponentials)
                    factorable = factorable && kernel::within_exponential_range(to, row.dim);
            });
        });
    }

    /// The factors of the queries in matrix products, rows side by side: (features, step).
    void prepare_products(Operands const& operands, Parts const& parts) {
        index_t plane = 0;
        plan::for_each_part(parts.products, [&](auto const& p) {
            auto const row = [&](index_t r) FOVEA_LAMBDA {
                return operands.query.place(facts[r].batch, facts[r].head, facts[r].q_idx, 0);
            };
            auto const base = [&](index_t r) FOVEA_LAMBDA {
                return kernel::index_environment<T, Arch, index_t>{facts[r], 0};
            };
            T scales[tile::rows];
            for (index_t r = 0; r < rows; ++r) {
                using element = std::remove_cvref_t<decltype(*row(r))>;
                kernel::single_environment<T, Arch, element, element> const here{
                    base(r), row(r), row(r), facts[r].dim, facts[r].dim};
                scales[r] = static_cast<T>(evaluate(p.scale, here));
            }
            kernel::transpose_features<T, Arch>(
                p.of_query, row, base, [&](index_t r) FOVEA_LAMBDA { return scales[r]; }, rows, step, rows, facts[0].dim,
                products + plane++ * facts[0].dim * step, step);
        });
    }

    /// A pairwise term on one panel, a few rows at a time so that their sums stay in registers.
    template <class Body>
    void compare_factored(Body const& body, packed const& keys, index_t block, index_t key_plane, index_t query_factor,
                          index_t p, T* panel, index_t stride) const {
        constexpr int at_once = 2;
        index_t const features = facts[0].dim;
        kernel::pair_factors<T> from{queries + query_factor * tile::rows * features, tile::rows * features,
                                     keys.keys(block, key_plane) + p * tile::panel * features,
                                     tile::block_keys * features, features};
        kernel::positions<T, Arch> const first{keys.first(block) + p * tile::panel};
        index_t r = 0;
        for (; r + at_once <= rows; r += at_once, from.queries += at_once * features)
            kernel::pairwise<at_once, tile::vectors, T, Arch>(body, facts + r, first, from, panel + r * stride, stride);
        for (; r < rows; ++r, from.queries += features)
            kernel::pairwise<1, tile::vectors, T, Arch>(body, facts + r, first, from, panel + r * stride, stride);
    }

    /// The same as it was written, lane by feature: for values beyond the range of the factors.
    template <class Body>
    void compare_directly(Body const& body, packed const& keys, index_t block, index_t p, T* panel, index_t stride) const {
        index_t const begin = keys.first(block) + p * tile::panel, end = std::min(begin + tile::panel, keys.last(block));
        for (index_t r = 0; r < rows; ++r)
            for (index_t k = begin; k < begin + tile::panel; ++k)
                panel[r * stride + k - begin] = k < end ? keys.compare(body, facts[r], k) : T{0};
    }
};

}  // namespace fovea::driver
