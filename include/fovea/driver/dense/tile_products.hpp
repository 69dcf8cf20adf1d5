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
    using context = key_lanes_context<Call>;
    using rows_type = key_lanes_rows<T, Arch>;
    using stored = stored_keys<Call>;
    using tile = plan::key_lanes_blocking<T, Arch>;
    using element = std::remove_cvref_t<decltype(*Call::operands::query.data)>;

public:
    /// The query sides of a tile; sources[r] are the features of row r.
    static void prepare(context const& call, rows_type& rows, element const* const* sources, bool in_place) {
        index_t n = 0;
        plan::for_each_part(call.spec.score.parts.products, [&](auto const& p) {
            using product = typename stored::template product_of<std::remove_cvref_t<decltype(p)>>;
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
            if constexpr (!stored::always_in_place)
                if (!in_place) return product::transpose(p.of_query, row, base, scale, destination);
            std::fill_n(to, plane(kernel::steps_over<typename product::step>(call.features)) * rows.mr, T{0});
            for (index_t r = 0; r < rows.count; ++r)
                product::for_packs(
                    p.of_query, row(r), base(r), scale(r), call.features,
                    [&](index_t pack, auto const& value) { value.store(to + (pack * rows.mr + r) * tile::lanes); });
        });
    }

    /// The products with a run of keys of a block.
    static void contract(context const& call, rows_type const& rows, packed_keys<T, Arch> const& keys,
                         key_run<tile> const& at, score_block<T> const& to, kernel::prefetch_queue& next) {
        index_t n = 0;
        plan::for_each_part(call.spec.score.parts.products, [&](auto const& p) {
            using part = std::remove_cvref_t<decltype(p)>;
            using product = typename stored::template product_of<part>;
            using step = typename product::step;
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
                stored(call, keys)
                    .template with_keys<part>(p.of_key, at.block, column, last - column,
                                              [&](auto const& from, index_t offset, index_t count) {
                                                  auto run = all;
                                                  run.scores += offset;
                                                  run.count = count;
                                                  contract_in_place<step>(from, run);
                                              });
            }
            if constexpr (!stored::always_in_place)
                if (call.features != 0 && !keys.in_place()) {
                    panel_product<T> const all{.queries = queries,
                                               .keys = keys.keys(at.block, n),
                                               .first = at.granules.first,
                                               .last = at.granules.last,
                                               .features = kernel::steps_over<step>(call.features),
                                               .mr = rows.mr,
                                               .scales = scales,
                                               .scores = scores,
                                               .stride = to.stride};
                    packed_products<product>::contract(all, next);
                }
            ++n;
        });
    }

private:
    static index_t plane(index_t features) { return round_up(features, tile::lanes); }
    static T* factors_of(rows_type const& rows, index_t product, index_t features) {
        return rows.factors + product * plane(features) * rows.mr;
    }

    /// Products over no features: 0 times the scale, which may be infinite, as the expression says.
    [[gnu::cold]] static void contract_no_features(int mr, T const* scales, granule_run<tile> run, T* scores,
                                                   index_t stride) {
        for (index_t r = 0; r < mr; ++r)
            std::fill(scores + r * stride + run.first * tile::lanes, scores + r * stride + run.last * tile::lanes,
                      T{0} * scales[r]);
    }

    /// Keys in place.
    template <class Step, class Keys>
    static void contract_in_place(Keys const& from, kernel::row_products<T> const& all) {
        static_assert(std::is_same_v<typename Keys::products, Step>,
                      "queries are laid out for the product of the keys");
        if constexpr (std::is_same_v<Keys, kernel::keys_in_place<T, Arch, kernel::even_rows<T>>>)
            products<T, Arch>::contract_in_place(from, all);
        else driver::contract_in_place<Arch>(from, all);
    }
};

}  // namespace fovea::FOVEA_SET::driver
