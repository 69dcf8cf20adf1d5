// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/packed_keys.hpp>
#include <fovea/expr/bound.hpp>
#include <fovea/kernel/contract.hpp>
#include <fovea/kernel/pairwise.hpp>
#include <fovea/kernel/transform.hpp>

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
    static constexpr index_t row_terms = plan::count_of<decltype(Parts::rows)>;

    index_t first_row = 0;
    index_t rows = 0;
    int step = tile::rows;                       // rows of the register tile
    kernel::row_facts facts[tile::rows];
    T terms[static_cast<std::size_t>(tile::rows * std::max<index_t>(row_terms, 1))];
    T* products = nullptr;                       // (products, features, step)
    T* queries = nullptr;                        // (step, features), for pairwise terms

    static index_t room(index_t features) { return packed::products * features * tile::rows; }
    static index_t query_room(index_t features) { return packed::pairs > 0 ? features * tile::rows : 0; }

    void prepare(Operands const& operands, Parts const& parts, index_t batch, index_t key_head, index_t first,
                 index_t count) {
        first_row = first;
        rows = count;
        with_rows<tile>(count, [&](auto n) { step = n; });
        index_t const features = operands.features();
        std::fill_n(products, packed::products * features * step, T{0});
        if (packed::pairs > 0) std::fill_n(queries, features * step, T{0});
        for (index_t r = 0; r < step; ++r) {
            index_t const row = std::min(first + r, first + count - 1);
            facts[r] = {batch, key_head * operands.group() + row % operands.group(), row / operands.group(),
                        operands.queries(), operands.keys(), features};
            if (r < count) prepare_row(operands, parts, r);
        }
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
            if constexpr (packed::pairs > 0)
                plan::for_each_part(score.parts.pairs, [&](auto const& pair) {
                    compare_pairwise(pair.body, keys, block, plane, p, panel + plane * plane_stride, stride);
                    ++plane;
                });
        }
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
        auto const* features = &operands.query(row.batch, row.head, row.q_idx, 0);
        using element = std::remove_cvref_t<decltype(*features)>;
        kernel::single_environment<T, Arch, element, element> const here{
            {row, index_t{0}}, features, features, row.dim, row.dim};
        index_t term = 0;
        plan::for_each_part(parts.rows, [&](auto const& t) {
            terms[r * row_terms + term++] = static_cast<T>(evaluate(t.expression, here));
        });
        index_t plane = 0;
        plan::for_each_part(parts.products, [&](auto const& p) {
            auto const scale = static_cast<T>(evaluate(p.scale, here));
            kernel::index_environment<T, Arch, index_t> const& base = here;
            kernel::scatter_features<T, Arch>(p.of_query, base, features, row.dim, scale,
                                              products + plane++ * row.dim * step + r, step);
        });
        if (packed::pairs > 0)
            for (index_t f = 0; f < row.dim; ++f) queries[r * row.dim + f] = static_cast<T>(features[f]);
    }

    /// A pairwise term on one panel, a few rows at a time so that their sums stay in registers.
    template <class Body>
    void compare_pairwise(Body const& body, packed const& keys, index_t block, index_t plane, index_t p, T* panel,
                          index_t stride) const {
        constexpr int at_once = 2;
        index_t const features = facts[0].dim;
        T const* const key = keys.keys(block, plane) + p * tile::panel * features;
        kernel::positions<T, Arch> const first{keys.first(block) + p * tile::panel};
        index_t r = 0;
        for (; r + at_once <= rows; r += at_once)
            kernel::pairwise<at_once, tile::vectors, T, Arch>(body, facts + r, first, queries + r * features, features,
                                                              key, features, panel + r * stride, stride);
        for (; r < rows; ++r)
            kernel::pairwise<1, tile::vectors, T, Arch>(body, facts + r, first, queries + r * features, features, key,
                                                        features, panel + r * stride, stride);
    }
};

}  // namespace fovea::driver
