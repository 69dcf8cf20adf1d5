// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of a score and a mask with queries in lanes.
#pragma once

#include <fovea/driver/dense/query_lanes_products.hpp>
#include <fovea/driver/dense/score_terms.hpp>

#include <algorithm>
#include <type_traits>

namespace fovea::FOVEA_SET::driver {

template <class Rows, class T, class Arch>
inline constexpr bool decoded_in_registers = false;
template <class Rows, class T, class Arch>
    requires requires { typename Rows::block_type; }
inline constexpr bool decoded_in_registers<Rows, T, Arch> =
    kernel::loads_whole_blocks<typename Rows::block_type, T, Arch>;

/// Copies rows of one head converted to T, the type of the arithmetic: (rows, stride).
template <class Arch, class T, class Rows>
void copy_rows(Rows const& rows, row_range const& at, T* to, index_t stride) {
    auto const convert = [&](auto const& stored) {
        for_runs(stored, at, [&](auto const& run, index_t offset) {
            for (index_t r = 0; r < run.count; ++r)
                kernel::convert_row<T, Arch>(run.first + r * run.stride, stored.extent(3), to + (offset + r) * stride);
        });
    };
    if constexpr (decoded_in_registers<Rows, T, Arch>) convert(rows.blocks);
    else if constexpr (loaded_rows<Rows>) rows.load(at, to, stride);
    else convert(rows);
}
/// Rows that are never copied: they are stored as they are read.
template <class Rows, class T>
inline constexpr bool always_in_place = std::is_same_v<element_of_rows<Rows>, T> && evenly_spaced<Rows>;

/// The functions of a score and a mask with a query in each lane.
template <class Call>
class query_lanes_scores {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using blocking = query_lanes_of<Call>;
    using context_type = context_of<Call, blocking>;
    using terms = score_terms<Call, blocking>;
    using rows_type = tile_rows<blocking>;
    using query_element = typename Call::query_element;
    using product = lane_products_of<blocking>;
    using key_rows = std::remove_const_t<decltype(Call::operands::key)>;
    static constexpr int query_planes = [] {
        if constexpr (product::scales_queries) return 1;
        else return product::template query_planes<query_element>;
    }();

    static void begin(score_call<blocking> const& call, rows_type& rows) {
        auto const& context = static_cast<context_type const&>(call);
        kernel::transpose_target<T> const to{.count = rows.count,
                                             .padded_rows = rows.width,
                                             .available = context.rows - rows.first,
                                             .features = context.summed.product.count,
                                             .first = rows.queries,
                                             .stride = rows.width};
        plan::for_each_part(context.spec.score.parts.products, [&](auto const& p) {
            terms::scale_rows(context, rows, p.scale, rows.scales);
            transpose(context, p.of_query, rows, to);
            for (index_t r = 0; r < (to.features == 0 ? to.stride : 0); ++r)
                to.first[r] = T{0} * rows.scales[std::min(r, rows.count - 1)];
        });
        terms::prepare_rows(context, rows);
    }
    template <class Body>
    static void transpose(context_type const& context, Body const& body, rows_type const& rows,
                          kernel::transpose_target<T> const& to) {
        auto row = rows.strided(context, context.operands.query);
        row.skip(context.summed.product.first);
        if constexpr (!product::scales_queries) {
            std::fill(rows.scales + rows.count, rows.scales + rows.width, rows.scales[rows.count - 1]);
            if constexpr (query_planes == 1) product::pack_queries(row, rows.scales, to);
            else product::template packing_in_planes<query_planes>::pack_queries(row, rows.scales, to);
        } else if constexpr (std::is_same_v<Body, q_t> && std::is_same_v<query_element, T>) {
            products<T, Arch>::transpose({row, rows.scales, to});
        } else {
            kernel::row_coordinates coordinates[blocking::rows];
            for (index_t r = 0; r < rows.count; ++r) coordinates[r] = rows.facts_of(context, r);
            kernel::transpose_features<T, Arch>(
                body, row,
                [&](index_t r) FOVEA_LAMBDA { return kernel::index_environment<T, Arch, index_t>{coordinates[r], 0}; },
                [&](index_t r) FOVEA_LAMBDA { return rows.scales[r]; }, to);
        }
    }

    static void prepare(score_call<blocking> const& call, head_keys<blocking> const& keys, index_t block) {
        auto const& context = static_cast<context_type const&>(call);
        if constexpr (product::packs_values) {
            if (!keys.in_place()) {
                auto const range = keys.range(block);
                for_runs(context.operands.key, range, keys.loaded(), [&](auto const& run, index_t offset) {
                    for (index_t r = 0; r < run.count; ++r)
                        product::copy_key(run.first + r * run.stride, context.features,
                                          keys.copies(block) + (offset + r) * keys.stride(), keys.stride());
                });
                product::end_keys(keys.copies(block), range.last - range.first, keys.stride());
            }
        } else if constexpr (!always_in_place<key_rows, T>) {
            if (!keys.in_place())
                copy_rows<Arch>(context.operands.key, keys.range(block), keys.copies(block), keys.stride());
        }
        terms::prepare_keys(context, keys, block);
    }

public:
    static constexpr score_functions<blocking> functions{.products = 1,
                                                         .pairs = 0,
                                                         .squares = 0,
                                                         .tables = 0,
                                                         .key_tables = 0,
                                                         .query_factors = 0,
                                                         .row_terms = terms::row_terms,
                                                         .row_indices = terms::row_indices,
                                                         .planes = 0,
                                                         .key_terms = terms::key_terms,
                                                         .key_indices = terms::key_indices,
                                                         .terms_per_head = false,
                                                         .loads_keys = product::packs_values && loaded_rows<key_rows>,
                                                         .is_bare_product = Call::is_bare_product,
                                                         .begin = &begin,
                                                         .prepare = &prepare,
                                                         .multiply = &query_lanes_products<blocking>::multiply,
                                                         .transform = &terms::transform,
                                                         .query_planes = query_planes};
};

}  // namespace fovea::FOVEA_SET::driver
