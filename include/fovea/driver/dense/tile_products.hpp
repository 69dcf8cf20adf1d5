// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matrix products of the queries of a tile with keys, for each product of a lowered score.
#pragma once

#include <fovea/driver/dense/score_terms.hpp>
#include <fovea/driver/dense/stored_keys.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The matrix products of a tile of queries with keys: the query side of each product, prepared once for the tile, and
/// the sums over the features.
template <class Call>
class tile_products {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using tile = key_lanes_of<Call>;
    using context_type = context_of<Call, tile>;
    using rows_type = tile_rows<tile>;
    using stored = stored_keys<Call>;
    using element = typename Call::query_element;

public:
    /// The query sides of a tile; sources[r] are the features of row r.
    static void prepare(context_type const& context, rows_type& rows, element const* const* sources) {
        bool const in_place = context.planned.keys == plan::reading::in_place;
        index_t n = 0;
        plan::for_each_part(context.spec.score.parts.products, [&](auto const& p) {
            using product = typename stored::template product_of<std::remove_cvref_t<decltype(p)>>;
            auto const [first_feature, features] = context.span_of(p);
            auto const row = [&, at = first_feature](index_t r) FOVEA_LAMBDA { return sources[r] + at; };
            auto const base = [&](index_t r) FOVEA_LAMBDA {
                return kernel::index_environment<T, Arch, index_t>{rows.facts[static_cast<std::size_t>(r)], 0};
            };
            T* const scales = rows.scales + n * tile::rows;
            T* const to = factors_of(rows, n++, context.summed.most);
            score_terms<Call, tile>::scale_rows(context, rows, p.scale, scales);
            for (index_t r = rows.count; r < rows.width; ++r) scales[r] = T{0};
            auto const scale = [&](index_t r) FOVEA_LAMBDA { return scales[r]; };
            [[maybe_unused]] kernel::transpose_target<T> const destination{.count = rows.count,
                                                                           .padded_rows = rows.width,
                                                                           .available = rows.count,
                                                                           .features = features,
                                                                           .first = to,
                                                                           .stride = rows.width};
            if constexpr (Call::packs_keys)
                if (!in_place) return product::transpose(p.of_query, row, base, scale, destination);
            std::fill_n(to, plane(kernel::steps_over<typename product::step>(features)) * rows.width, T{0});
            for (index_t r = 0; r < rows.count; ++r)
                product::for_packs(
                    p.of_query, row(r), base(r), scale(r), features,
                    [&](index_t pack, auto const& value) { value.store(to + (pack * rows.width + r) * tile::lanes); });
        });
    }

    /// The products with a run of keys of a block.
    static void contract(context_type const& context, rows_type const& rows, head_keys<tile> const& keys,
                         key_run<tile> const& at, score_block<tile> const& to, kernel::prefetch_queue& next) {
        index_t n = 0;
        plan::for_each_part(context.spec.score.parts.products, [&](auto const& p) {
            using part = std::remove_cvref_t<decltype(p)>;
            using product = typename stored::template product_of<part>;
            using step = typename product::step;
            index_t const features = context.span_of(p).count;
            T const* const queries = factors_of(rows, n, context.summed.most);
            T const* const scales = rows.scales + n * tile::rows;
            T* const scores = to.scores + n * to.plane_stride;
            auto const mr = static_cast<int>(rows.width);
            if (features == 0) {
                contract_no_features(mr, scales, to, scores);
            } else if (keys.in_place()) {
                kernel::row_products<T> const all{queries, mr, to.count, features, scores, to.stride, scales};
                stored(context, keys)
                    .template with_keys<part>(p, to.first, to.count,
                                              [&](auto const& from, index_t offset, index_t count) {
                                                  auto run = all;
                                                  run.scores += offset;
                                                  run.count = count;
                                                  contract_in_place<step>(from, run);
                                              });
            }
            if constexpr (Call::packs_keys)
                if (features != 0 && !keys.in_place())
                    packed_products<product>::contract({.queries = queries,
                                                        .keys = keys.keys(at.block, n),
                                                        .first = at.granules.first,
                                                        .last = at.granules.last,
                                                        .features = kernel::steps_over<step>(features),
                                                        .mr = mr,
                                                        .scales = scales,
                                                        .scores = scores - at.granules.first * tile::lanes,
                                                        .stride = to.stride},
                                                       next);
            ++n;
        });
    }

private:
    static index_t plane(index_t features) { return round_up(features, tile::lanes); }
    static T* factors_of(rows_type const& rows, index_t product, index_t features) {
        return rows.queries + product * plane(features) * rows.width;
    }

    /// Products over no features: 0 times the scale, which may be infinite, as the expression says.
    [[gnu::cold]] static void contract_no_features(int mr, T const* scales, score_block<tile> const& to, T* scores) {
        for (index_t r = 0; r < mr; ++r)
            std::fill_n(scores + r * to.stride, to.packs() * tile::lanes, T{0} * scales[r]);
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
