// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/dense/tile_products.hpp>
#include <fovea/kernel/pairwise.hpp>
#include <fovea/kernel/table_lines.hpp>
#include <fovea/kernel/transform.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Up to `tile::rows` queries of one key/value head, ready to be compared with a key in each lane: query heads that
/// share keys are rows of one tile, so keys are read once per group.
template <class Call>
struct score_tile {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Operands = typename Call::operands;
    using Parts = typename Call::parts;
    using tile = plan::tile<T, Arch>;
    using packed = packed_keys<Call>;
    using query_element = std::remove_cvref_t<decltype(*Operands::query.data)>;
    static constexpr index_t query_factors = plan::query_factors_of<decltype(Parts::pairs)>;
    static constexpr bool whole_panels = packed::pairs > 0;  // pairwise terms are computed so
    static constexpr index_t row_terms = plan::count_of<decltype(Parts::rows)>;
    static constexpr index_t index_terms = plan::count_of<decltype(dense_context<Call>::indices_type::queries)>;

    index_t first_row = 0;
    index_t rows = 0;
    int step = tile::rows;  // rows of the register tile
    kernel::row_facts facts[tile::rows];
    query_element const* sources[tile::rows];  // where the features of each row begin
    T terms[static_cast<std::size_t>(tile::rows * std::max<index_t>(row_terms, 1))];
    index_t indices[static_cast<std::size_t>(tile::rows * std::max<index_t>(index_terms, 1))];
    tile_products<T, Arch, packed> products;
    T* queries = nullptr;    // (query factors, rows, features), for pairwise terms
    bool factorable = true;  // no exponential of a query left its range

    static index_t query_room(index_t features) { return query_factors * features * tile::rows; }

    void prepare(dense_context<Call> const& call, head_group at, index_t first, index_t count, bool in_place) {
        auto const& operands = call.operands;
        auto const& parts = call.recipe.score.parts;
        first_row = first;
        rows = count;
        with_rows<tile>(count, [&](auto n) { step = n; });
        factorable = true;
        index_t const group = operands.group(), head = at.head * group;
        index_t position = first / group, of_group = first - position * group;
        for (index_t r = 0; r < step; ++r) {
            facts[r] = {at.batch,        head + of_group,     position,      operands.queries(),
                        operands.keys(), operands.features(), operands.exact};
            sources[r] = operands.query.place(at.batch, head + of_group, position, 0);
            if (r < count) prepare_row(call, r);
            if (r + 1 < count && ++of_group == group) of_group = 0, ++position;
        }
        products.prepare(parts, facts, sources, rows, step, in_place);
    }

    /// Scores of part of a block of keys into `scores`: (planes, rows, stride); plane 0 is the result.
    void score(dense_context<Call> const& call, packed const& keys, key_part<tile> const& part, T* scores,
               index_t stride, index_t plane_stride) const {
        auto const& score = call.recipe.score;
        auto const& predicate = call.recipe.predicate;
        index_t const block = part.block;
        auto const run = part.run;
        bool const* const mixed = part.mixed;
        prefetch_tables(score.pointwise, predicate, keys, block, run);
        products.contract(score.parts, keys, block, run, scores, stride, plane_stride);
        for (index_t p = run.first_panel(); p < run.last_panel() && packed::pairs > 0; ++p) {
            index_t plane = packed::products, key_plane = plane, query_factor = 0;
            plan::for_each_part(score.parts.pairs, [&](auto const& pair) {
                T* const to = scores + p * tile::panel + plane++ * plane_stride;
                if (factorable && keys.factorable(block))
                    compare_factored(pair.factors.body, keys, block, key_plane, query_factor, p, to, stride);
                else compare_directly(pair.body, keys, block, p, to, stride);
                key_plane += plan::count_of<decltype(pair.factors.keys)>;
                query_factor += plan::count_of<decltype(pair.factors.queries)>;
            });
        }
        if (Call::is_bare_product && !any_mixed(run, mixed)) return;
        auto const* const key_indices = keys.indices(block);
        for_spans(run, mixed, [&](index_t first, index_t packs, bool masked) {
            index_t const column = first * tile::lanes, key = keys.first(block) + column;
            for (index_t r = 0; r < rows; ++r) {
                T const* const key_terms =
                    packed::key_terms > 0 ? keys.terms(block, facts[r].head % keys.group()) : scores;
                kernel::row_parts<T> const at{scores + r * stride + column, plane_stride,        packed::products,
                                              terms + r * row_terms,        key_terms + column,  packed::term_stride(),
                                              indices + r * index_terms,    key_indices + column};
                auto const transform = [&](auto hides) {
                    kernel::transform<hides(), T, Arch>(score.pointwise, predicate, call.indices, facts[r], at, key,
                                                        packs);
                };
                if (masked) transform(std::true_type{});
                else transform(std::false_type{});
            }
        });
    }

private:
    /// Prefetches what score and mask read of tables while the products are computed.
    template <class Pointwise, class Predicate>
    void prefetch_tables(Pointwise const& pointwise, Predicate const& predicate, packed const& keys, index_t block,
                         pack_run<tile> run) const {
        if (keys.in_place() || !keys.prefetches().empty()) return;
        index_t const first = keys.first(block) + run.first * tile::lanes, count = (run.last - run.first) * tile::lanes;
        if constexpr (reads_a_table<Pointwise>)
            keys.prefetches() = kernel::table_lines<T, Arch>(pointwise, facts, rows, first, count);
        if constexpr (reads_a_table<Predicate>)
            if (keys.prefetches().empty())
                keys.prefetches() = kernel::table_lines<T, Arch>(predicate, facts, rows, first, count);
    }

    void prepare_row(dense_context<Call> const& call, index_t r) {
        auto const& parts = call.recipe.score.parts;
        auto const& row = facts[r];
        auto const* features = sources[r];
        kernel::single_environment<T, Arch, query_element, query_element> const here{
            {row, index_t{0}}, features, features, row.dim, row.dim};
        index_t term = 0;
        plan::for_each_part(parts.rows, [&](auto const& t) {
            terms[r * row_terms + term++] = static_cast<T>(evaluate(t.expression, here));
        });
        term = 0;
        plan::for_each_part(call.indices.queries,
                            [&](auto const& t) { indices[r * index_terms + term++] = evaluate(t, here); });
        index_t factor = 0;
        plan::for_each_part(parts.pairs, [&](auto const& pair) {
            plan::for_each_part(pair.factors.queries, [&](auto const& body) {
                T* const to = queries + (factor++ * tile::rows + r) * row.dim;
                kernel::index_environment<T, Arch, index_t> const& base = here;
                kernel::scatter_features<T, Arch>(body, base, features, row.dim, T{1}, to, 1);
                if constexpr (std::remove_cvref_t<decltype(pair)>::uses_exponentials)
                    factorable = factorable && kernel::stays_in_range(body, to, row.dim);
            });
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
            kernel::pairwise<at_once, tile::nv, T, Arch>(body, facts + r, first, from, panel + r * stride, stride);
        for (; r < rows; ++r, from.queries += features)
            kernel::pairwise<1, tile::nv, T, Arch>(body, facts + r, first, from, panel + r * stride, stride);
    }

    /// The same as it was written, lane by feature: for values beyond the range of the factors.
    template <class Body>
    void compare_directly(Body const& body, packed const& keys, index_t block, index_t p, T* panel,
                          index_t stride) const {
        index_t const begin = keys.first(block) + p * tile::panel,
                      end = std::min(begin + tile::panel, keys.last(block));
        for (index_t r = 0; r < rows; ++r)
            for (index_t k = begin; k < begin + tile::panel; ++k)
                panel[r * stride + k - begin] = k < end ? keys.compare(body, facts[r], k) : T{0};
    }
};

}  // namespace fovea::FOVEA_SET::driver
