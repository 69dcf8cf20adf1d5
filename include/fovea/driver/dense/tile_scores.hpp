// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scores of a tile with a key in each lane: terms, products, sums for each pair, the rest and the mask.
#pragma once

#include <fovea/driver/dense/tile_products.hpp>
#include <fovea/kernel/pairwise.hpp>
#include <fovea/kernel/table_lines.hpp>
#include <fovea/kernel/transform.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Computes the scores of a tile with a key in each lane: the terms of each row, then products, pairwise terms, the
/// rest of the score and the mask.
template <class Call>
class tile_scores {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Parts = typename Call::parts;
    using context = key_lanes_context<Call>;
    using rows_type = key_lanes_rows<T, Arch>;
    using packed = packed_keys<T, Arch>;
    using stored = stored_keys<Call>;
    using tile = plan::key_lanes_blocking<T, Arch>;
    using query_element = std::remove_cvref_t<decltype(*Call::operands::query.data)>;

public:
    static constexpr index_t query_factors = plan::query_factors_of<decltype(Parts::pairs)>;
    static constexpr index_t row_terms = plan::count_of<decltype(Parts::rows)>;
    static constexpr index_t row_indices = plan::count_of<decltype(context::indices_type::queries)>;

    static void prepare(context const& call, rows_type& rows, bool in_place) {
        query_element const* sources[tile::rows];  // where the features of each row begin
        rows.factorable = true;
        for (index_t r = 0; r < rows.mr; ++r) {
            auto const& row = rows.facts[r];
            sources[r] = call.operands.query.place(row.batch, row.head, row.q_idx, 0);
            if (r < rows.count) prepare_row(call, rows, r, sources[r]);
        }
        tile_products<Call>::prepare(call, rows, sources, in_place);
    }

    /// Scores of a run of keys of a block.
    static void score(context const& call, rows_type const& rows, packed const& keys, key_run<tile> const& at,
                      score_block<T> const& to, next_lines& next) {
        auto const& score = call.spec.score;
        auto const run = at.granules;
        prefetch_tables(call, rows, keys, at, next);
        tile_products<Call>::contract(call, rows, keys, at, to, next.queue());
        for (index_t p = run.first_panel(); p < run.last_panel() && stored::pairs > 0; ++p) {
            index_t plane = stored::products, key_plane = plane, query_factor = 0;
            plan::for_each_part(score.parts.pairs, [&](auto const& pair) {
                score_block<T> const panel{to.scores + p * tile::panel + plane++ * to.plane_stride, to.stride, 0};
                if (rows.factorable && keys.factorable(at.block)) {
                    index_t const features = call.span_of(pair).count, plane_rows = tile::rows * call.summed.most;
                    compare_factored(rows, pair.factors.body,
                                     {rows.pair_factors + query_factor * plane_rows, plane_rows,
                                      keys.keys(at.block, key_plane) + p * tile::panel * features,
                                      tile::block_keys * call.summed.most, features},
                                     keys.first(at.block) + p * tile::panel, panel);
                } else {
                    compare_directly(stored(call, keys), rows, pair, keys.first(at.block) + p * tile::panel,
                                     keys.last(at.block), panel);
                }
                key_plane += plan::count_of<decltype(pair.factors.keys)>;
                query_factor += plan::count_of<decltype(pair.factors.queries)>;
            });
        }
        if (Call::is_bare_product && !any_mixed(at)) return;
        auto const* const key_indices = keys.indices(at.block);
        for_spans(at, [&](index_t first, index_t packs, bool masked) {
            index_t const column = first * tile::lanes, key = keys.first(at.block) + column;
            for (index_t r = 0; r < rows.count; ++r) {
                T const* const key_terms =
                    stored::key_terms > 0 ? keys.terms(at.block, rows.facts[r].head % call.tile_heads) : to.scores;
                kernel::row_parts<T> const row{
                    to.scores + r * to.stride + column, to.plane_stride,     stored::products,
                    rows.terms + r * row_terms,         key_terms + column,  tile::block_keys,
                    rows.indices + r * row_indices,     key_indices + column};
                if (masked) transform<true>(call, rows.facts[r], row, key, packs);
                else transform<false>(call, rows.facts[r], row, key, packs);
            }
        });
    }

private:
    template <bool Masked>
    static void transform(context const& call, kernel::row_facts const& row, kernel::row_parts<T> const& at,
                          index_t key, index_t packs) {
        kernel::transform<Masked, T, Arch>(call.spec.score.pointwise, call.spec.predicate, call.indices, row, at, key,
                                           packs);
    }

    /// Prefetches what score and mask read of tables while the products are computed.
    static void prefetch_tables(context const& call, rows_type const& rows, packed const& keys, key_run<tile> const& at,
                                next_lines& next) {
        auto const& pointwise = call.spec.score.pointwise;
        auto const& predicate = call.spec.predicate;
        if (keys.in_place() || !next.queue().empty()) return;
        kernel::key_range const range{.first = keys.first(at.block) + at.granules.first * tile::lanes,
                                      .count = (at.granules.last - at.granules.first) * tile::lanes};
        index_t const steps = range.count / tile::panel * call.features * stored::products;
        if constexpr (reads_a_table<std::remove_cvref_t<decltype(pointwise)>>)
            next.tables = kernel::table_lines<T, Arch>(pointwise, rows.facts, rows.count, range, steps);
        if constexpr (reads_a_table<std::remove_cvref_t<decltype(predicate)>>)
            if (next.tables.empty())
                next.tables = kernel::table_lines<T, Arch>(predicate, rows.facts, rows.count, range, steps);
    }

    static void prepare_row(context const& call, rows_type& rows, index_t r, query_element const* features) {
        auto const& parts = call.spec.score.parts;
        auto const& row = rows.facts[r];
        kernel::single_environment<T, Arch, query_element, query_element> const here{
            {row, index_t{0}}, features, features, row.dim, row.dim};
        T* term = rows.terms + r * row_terms;
        plan::for_each_part(parts.rows, [&](auto const& t) { *term++ = static_cast<T>(evaluate(t.expression, here)); });
        index_t* index = rows.indices + r * row_indices;
        plan::for_each_part(call.indices.queries, [&](auto const& t) { *index++ = evaluate(t, here); });
        index_t factor = 0;
        plan::for_each_part(parts.pairs, [&](auto const& pair) {
            auto const [first, count] = call.span_of(pair);
            plan::for_each_part(pair.factors.queries, [&, first = first, count = count](auto const& body) {
                T* const to = rows.pair_factors + factor++ * tile::rows * call.summed.most + r * count;
                kernel::index_environment<T, Arch, index_t> const& base = here;
                kernel::scatter_features<T, Arch>(body, base, features + first, count, T{1}, to, 1);
                if constexpr (std::remove_cvref_t<decltype(pair)>::uses_exponentials)
                    rows.factorable = rows.factorable && kernel::stays_in_range(body, to, count);
            });
        });
    }

    /// A pairwise term on one panel, a few rows at a time so that their sums stay in registers.
    template <class Body>
    static void compare_factored(rows_type const& rows, Body const& body, kernel::pair_factors<T> from,
                                 index_t first_key, score_block<T> const& panel) {
        constexpr int at_once = 2;
        kernel::positions<T, Arch> const first{first_key};
        index_t r = 0;
        for (; r + at_once <= rows.count; r += at_once, from.queries += at_once * from.features)
            kernel::pairwise<at_once, tile::nv, T, Arch>(body, rows.facts + r, first, from,
                                                         panel.scores + r * panel.stride, panel.stride);
        for (; r < rows.count; ++r, from.queries += from.features)
            kernel::pairwise<1, tile::nv, T, Arch>(body, rows.facts + r, first, from, panel.scores + r * panel.stride,
                                                   panel.stride);
    }

    /// Pairwise sums of the body as it was written, feature by feature: for values beyond the range of the factors.
    template <class Pair>
    static void compare_directly(stored const& keys, rows_type const& rows, Pair const& pair, index_t begin,
                                 index_t end, score_block<T> const& panel) {
        for (index_t r = 0; r < rows.count; ++r)
            for (index_t k = begin; k < begin + tile::panel; ++k)
                panel.scores[r * panel.stride + k - begin] = k < end ? keys.compare(pair, rows.facts[r], k) : T{0};
    }
};

}  // namespace fovea::FOVEA_SET::driver
