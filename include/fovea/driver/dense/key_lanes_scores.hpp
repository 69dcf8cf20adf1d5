// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scores of a specification with keys in lanes: operands of any type in any place, several products, and sums of
// each pair.
#pragma once

#include <fovea/driver/dense/pair_sums.hpp>
#include <fovea/driver/dense/table_lines.hpp>
#include <fovea/driver/dense/tile_products.hpp>

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
        for (index_t r = 0; r < rows.width; ++r) {
            auto const& row = rows.facts[static_cast<std::size_t>(r)];
            sources[r] = context.operands.query.place(row.batch, row.head, row.q_idx, 0);
        }
        tile_products<Call>::prepare(context, rows, sources);
        pair_sums<Call>::prepare(context, rows, sources);
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
        pair_sums<Call>::add_up(context, rows, keys, at, to, next);
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

public:
    static constexpr score_functions<tile> functions{.products = stored::products,
                                                     .pairs = pair_sums<Call>::count,
                                                     .squares = pair_sums<Call>::squares,
                                                     .query_factors = pair_sums<Call>::query_factors,
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
