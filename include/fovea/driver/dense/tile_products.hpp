// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matrix products of the queries of a tile with keys, for each product of a lowered score.
#pragma once

#include <fovea/driver/dense/row_scales.hpp>
#include <fovea/driver/dense/stored_keys.hpp>
#include <fovea/driver/products.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The matrix products of a tile of queries with keys: the query side of each product, prepared once for the tile, and
/// the sums over the features.
template <class Call>
class tile_products {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using context = row_context<Call>;
    using rows_type = query_rows<T, Arch>;
    using stored = stored_keys<Call>;
    using tile = plan::tile<T, Arch>;
    using element = std::remove_cvref_t<decltype(*Call::operands::query.data)>;

public:
    /// The query sides of a tile; sources[r] are the features of row r.
    static void prepare(context const& call, rows_type& rows, element const* const* sources, bool in_place) {
        index_t n = 0;
        plan::for_each_part(call.spec.score.parts.products, [&](auto const& p) {
            using product = std::remove_cvref_t<decltype(p)>;
            auto const row = [&](index_t r) FOVEA_LAMBDA { return sources[r]; };
            auto const base = [&](index_t r) FOVEA_LAMBDA {
                return kernel::index_environment<T, Arch, index_t>{rows.facts[r], 0};
            };
            T* const scales = rows.scales + n * tile::rows;
            T* const to = factors_of(rows, n++, call.features);
            scales_of_rows<decltype(p.scale)>(rows.count, scales, [&](index_t r) {
                kernel::single_environment<T, Arch, element, element> const here{base(r), row(r), row(r), call.features,
                                                                                 call.features};
                return static_cast<T>(evaluate(p.scale, here));
            });
            for (index_t r = rows.count; r < rows.mr; ++r) scales[r] = T{0};
            auto const scale = [&](index_t r) FOVEA_LAMBDA { return scales[r]; };
            [[maybe_unused]] kernel::transpose_target<T> const destination{.count = rows.count,
                                                                           .padded_rows = rows.mr,
                                                                           .available = rows.count,
                                                                           .features = call.features,
                                                                           .first = to,
                                                                           .stride = rows.mr};
            if constexpr (stored::template multiplies_bf16_pairs<product>) {
                if (stored::always_in_place || in_place) place_bf16_pairs(call, rows, row, to);
                else kernel::transpose_bf16_pairs<Arch>(row, destination);
            } else {
                if constexpr (!stored::always_in_place)
                    if (!in_place)
                        return kernel::transpose_features<T, Arch>(p.of_query, row, base, scale, destination);
                std::fill_n(to, plane(call.features) * rows.mr, T{0});
                for (index_t r = 0; r < rows.count; ++r)
                    kernel::for_features<T, Arch>(
                        p.of_query, base(r), row(r), row(r), call.features, [&](index_t f, auto const& value) {
                            (value * kernel::pack<T, Arch>(scale(r))).store(to + f * rows.mr + r * tile::lanes);
                        });
            }
        });
    }

    /// The products with a run of keys of a block.
    static void contract(context const& call, rows_type const& rows, packed_keys<T, Arch> const& keys,
                         key_run<tile> const& at, score_block<T> const& to) {
        index_t n = 0;
        plan::for_each_part(call.spec.score.parts.products, [&](auto const& p) {
            using product = std::remove_cvref_t<decltype(p)>;
            using arithmetic = typename stored::template products_of<product>;
            T const* const queries = factors_of(rows, n, call.features);
            T const* const scales = rows.scales + n * tile::rows;
            T* const scores = to.scores + n * to.plane_stride;
            if (call.features == 0) {
                contract_no_features(rows.mr, scales, at.granules, scores, to.stride);
            } else if (stored::always_in_place || keys.in_place()) {
                index_t const column = at.granules.first * tile::lanes;
                index_t const last =
                    std::min(at.granules.last * tile::lanes, keys.last(at.block) - keys.first(at.block));
                kernel::row_products<T> const all{queries,         rows.mr,   last - column, call.features,
                                                  scores + column, to.stride, scales};
                stored(call, keys).template with_keys<product>(p.of_key, at.block, column, [&](auto const& from) {
                    contract_in_place<arithmetic>(from, all);
                });
            }
            if constexpr (!stored::always_in_place)
                if (call.features != 0 && !keys.in_place()) {
                    panel_product<T> const all{
                        .queries = queries,
                        .keys = keys.keys(at.block, n),
                        .first = at.granules.first,
                        .last = at.granules.last,
                        .features = arithmetic::scales ? kernel::bf16_pair_count(call.features) : call.features,
                        .mr = rows.mr,
                        .scales = scales,
                        .scores = scores,
                        .stride = to.stride};
                    if constexpr (arithmetic::scales) products<T, Arch>::contract_bf16_pairs(all, keys.prefetches());
                    else products<T, Arch>::contract(all, keys.prefetches());
                }
            ++n;
        });
    }

private:
    static index_t plane(index_t features) { return round_up(features, tile::lanes); }
    static T* factors_of(rows_type const& rows, index_t product, index_t features) {
        return rows.factors + product * plane(features) * rows.mr;
    }

    /// Rows as bf16 pairs, a pack of each row after the other: (packs, mr, lanes).
    template <class Rows>
    static void place_bf16_pairs(context const& call, rows_type const& rows, Rows const& row, T* to) {
        std::fill_n(to, plane(kernel::bf16_pair_count(call.features)) * rows.mr, T{0});
        for (index_t r = 0; r < rows.count; ++r)
            for (index_t w = 0; w < kernel::bf16_pair_count(call.features); w += tile::lanes)
                kernel::load_bf16_pairs<Arch>(row(r) + 2 * w, call.features - 2 * w)
                    .store(to + w * rows.mr + r * tile::lanes);
    }

    /// Products over no features: 0 times the scale, which may be infinite, as the expression says.
    [[gnu::cold]] static void contract_no_features(int mr, T const* scales, granule_run<tile> run, T* scores,
                                                   index_t stride) {
        for (index_t r = 0; r < mr; ++r)
            std::fill(scores + r * stride + run.first * tile::lanes, scores + r * stride + run.last * tile::lanes,
                      T{0} * scales[r]);
    }

    /// Keys in place.
    template <class Arithmetic, class Keys>
    static void contract_in_place(Keys const& from, kernel::row_products<T> const& all) {
        static_assert(std::is_same_v<typename Keys::products, Arithmetic>,
                      "queries are laid out for the arithmetic of the keys");
        if constexpr (std::is_same_v<Keys, kernel::strided_keys<T, Arch, T>>)
            products<T, Arch>::contract_in_place(from, all);
        else driver::contract_in_place<Arch>(from, all);
    }
};

}  // namespace fovea::FOVEA_SET::driver
