// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scores of a specification with keys in lanes: operands of any type in any place, several products, and sums of
// each pair.
#pragma once

#include <fovea/driver/dense/tile_products.hpp>
#include <fovea/kernel/pairwise.hpp>
#include <fovea/kernel/table_lines.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The functions of a score and a mask with a key in each lane.
template <class Call>
class key_lanes_scores {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Parts = typename Call::parts;
    using tile = key_lanes_of<Call>;
    using context_type = context_of<Call, tile>;
    using call_type = score_call<tile>;
    using terms = score_terms<Call, tile>;
    using rows_type = tile_rows<tile>;
    using keys_type = head_keys<tile>;
    using stored = stored_keys<Call>;
    using query_element = typename Call::query_element;

    static context_type const& of(call_type const& call) { return static_cast<context_type const&>(call); }

    static void begin(call_type const& call, rows_type& rows) {
        auto const& context = of(call);
        terms::prepare_rows(context, rows);
        query_element const* sources[tile::rows];  // where the features of each row begin
        rows.factorable = true;
        for (index_t r = 0; r < rows.width; ++r) {
            auto const& row = rows.facts[static_cast<std::size_t>(r)];
            sources[r] = context.operands.query.place(row.batch, row.head, row.q_idx, 0);
            if (r < rows.count) prepare_pairs(context, rows, r, sources[r]);
        }
        tile_products<Call>::prepare(context, rows, sources);
    }
    static void prepare_pairs(context_type const& context, rows_type& rows, index_t r, query_element const* features) {
        index_t factor = 0;
        plan::for_each_part(context.spec.score.parts.pairs, [&](auto const& pair) {
            auto const span = context.span_of(pair);
            plan::for_each_part(pair.factors.queries, [&](auto const& body) {
                T* const to = rows.pair_factors + factor++ * tile::rows * context.summed.most + r * span.count;
                kernel::index_environment<T, Arch, index_t> const base{rows.facts[static_cast<std::size_t>(r)], 0};
                kernel::scatter_features<T, Arch>(body, base, features + span.first, span.count, T{1}, to, 1);
                if constexpr (std::remove_cvref_t<decltype(pair)>::uses_exponentials)
                    rows.factorable = rows.factorable && kernel::stays_in_range(body, to, span.count);
            });
        });
    }

    static void prepare(call_type const& call, keys_type const& keys, index_t block) {
        stored(of(call), keys).pack(block);
        terms::prepare_keys(of(call), keys, block);
    }

    static void multiply(call_type const& call, rows_type const& rows, keys_type const& keys, key_run<tile> const& at,
                         score_block<tile> const& to, next_lines& next) {
        auto const& context = of(call);
        prefetch_tables(context, rows, keys, to, next);
        tile_products<Call>::contract(context, rows, keys, at, to, next.queue());
        for (index_t k = 0; k < to.count && stored::pairs > 0; k += tile::panel) {
            index_t plane = stored::products, key_plane = plane, query_factor = 0;
            index_t const first = to.first + k, within = first - keys.first(at.block);
            plan::for_each_part(context.spec.score.parts.pairs, [&](auto const& pair) {
                T* const panel = to.scores + k + plane++ * to.plane_stride;
                if (rows.factorable && keys.factorable(at.block)) {
                    index_t const features = context.span_of(pair).count, plane_rows = tile::rows * context.summed.most;
                    compare_factored(rows, pair.factors.body,
                                     {rows.pair_factors + query_factor * plane_rows, plane_rows,
                                      keys.keys(at.block, key_plane) + within * features,
                                      tile::block_keys * context.summed.most, features},
                                     first, panel, to.stride);
                } else {
                    compare_directly(stored(context, keys), rows, pair, first, keys.last(at.block), panel, to.stride);
                }
                key_plane += plan::count_of<decltype(pair.factors.keys)>;
                query_factor += plan::count_of<decltype(pair.factors.queries)>;
            });
        }
    }

    /// Prefetches what score and mask read of tables while the products are computed.
    static void prefetch_tables(context_type const& context, rows_type const& rows, keys_type const& keys,
                                score_block<tile> const& to, next_lines& next) {
        auto const& pointwise = context.spec.score.pointwise;
        auto const& predicate = context.spec.predicate;
        if (keys.in_place() || !next.queue().empty()) return;
        kernel::key_range const range{.first = to.first, .count = to.packs() * tile::lanes};
        index_t const steps = range.count / tile::panel * context.features * stored::products;
        if constexpr (reads_a_table<std::remove_cvref_t<decltype(pointwise)>>)
            next.tables = kernel::table_lines<T, Arch>(pointwise, rows.facts.data(), rows.count, range, steps);
        if constexpr (reads_a_table<std::remove_cvref_t<decltype(predicate)>>)
            if (next.tables.empty())
                next.tables = kernel::table_lines<T, Arch>(predicate, rows.facts.data(), rows.count, range, steps);
    }

    /// A pairwise term on one panel, a few rows at a time so that their sums stay in registers.
    template <class Body>
    static void compare_factored(rows_type const& rows, Body const& body, kernel::pair_factors<T> from,
                                 index_t first_key, T* panel, index_t stride) {
        constexpr int at_once = 2;
        kernel::positions<T, Arch> const first{first_key};
        index_t r = 0;
        for (; r + at_once <= rows.count; r += at_once, from.queries += at_once * from.features)
            kernel::pairwise<at_once, tile::nv, T, Arch>(body, rows.facts.data() + r, first, from, panel + r * stride,
                                                         stride);
        for (; r < rows.count; ++r, from.queries += from.features)
            kernel::pairwise<1, tile::nv, T, Arch>(body, rows.facts.data() + r, first, from, panel + r * stride,
                                                   stride);
    }

    /// Pairwise sums of the body as it was written, feature by feature: for values beyond the range of the factors.
    template <class Pair>
    static void compare_directly(stored const& keys, rows_type const& rows, Pair const& pair, index_t begin,
                                 index_t end, T* panel, index_t stride) {
        for (index_t r = 0; r < rows.count; ++r)
            for (index_t k = begin; k < begin + tile::panel; ++k)
                panel[r * stride + k - begin] =
                    k < end ? keys.compare(pair, rows.facts[static_cast<std::size_t>(r)], k) : T{0};
    }

public:
    static constexpr score_functions<tile> functions{.products = stored::products,
                                                     .pairs = stored::pairs,
                                                     .query_factors = plan::query_factors_of<decltype(Parts::pairs)>,
                                                     .row_terms = terms::row_terms,
                                                     .row_indices = terms::row_indices,
                                                     .planes = stored::planes,
                                                     .key_terms = terms::key_terms,
                                                     .key_indices = terms::key_indices,
                                                     .terms_per_head = terms::per_head,
                                                     .loads_keys = loaded_rows<typename stored::key_rows>,
                                                     .is_bare_product = Call::is_bare_product,
                                                     .begin = &begin,
                                                     .prepare = &prepare,
                                                     .multiply = &multiply,
                                                     .transform = &terms::transform};
};

}  // namespace fovea::FOVEA_SET::driver
