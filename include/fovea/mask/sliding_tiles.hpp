// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/mask/neighborhood.hpp>

namespace fovea::FOVEA_SET {

/// sliding_tiles: a neighborhood of whole tiles, so that blocks of pairs are either full or empty.
///
///     sliding_tiles({rows, columns}, {tile height, tile width}, {height, width})    three of each in a volume
///
/// Shapes: windows are in tiles, tiles and extents in places, and extents are multiples of the tiles; positions run
/// tile by tile, row by row within a tile, and tiles run row by row.
/// Cost: tiles out of reach are never visited; if a tile has as many places as a block of pairs, no pair needs masking.
/// Edge cases: windows move inwards at the borders.
/// Errors: shape_error unless the extents are multiples of the tiles; std::invalid_argument for a window below 1. At
/// compile time, unless there are two or three axes.
/// Source: Zhang et al. 2025 (sliding tile attention), section 3.2.
template <std::size_t Axes>
constexpr auto sliding_tiles(index_t const (&window)[Axes], index_t const (&tile)[Axes],
                             index_t const (&extent)[Axes]) {
    static_assert(Axes == 2 || Axes == 3, "fovea: sliding tiles cover a plane or a volume");
    using namespace placeholders;
    for (std::size_t axis = 0; axis < Axes; ++axis)
        if (tile[axis] < 1 || extent[axis] < 0 || extent[axis] % tile[axis] != 0)
            raise_error(shape_error("sliding_tiles: along axis ", axis, " ", detail::there_are(extent[axis], "place"),
                                    " in tiles of ", tile[axis], ": the extent must be a multiple of the tile"));
    for (index_t const tiles : window) detail::require_1_or_more("sliding_tiles: a window", tiles);
    index_t size = 1;
    for (index_t const places : tile) size *= places;
    auto const near_on = [&](std::size_t axis, auto const& place) {
        return detail::is_near(place(q_idx / size), place(kv_idx / size), window[axis], extent[axis] / tile[axis]);
    };
    constexpr std::size_t x = Axes - 1, y = Axes > 1 ? Axes - 2 : 0;  // axes there are, whatever the sentence says
    index_t const across = extent[x] / tile[x], down = extent[y] / tile[y];
    auto const column = near_on(x, [=](auto const& t) { return t % across; });
    auto const row = near_on(y, [=](auto const& t) { return t / across % down; });
    if constexpr (Axes == 2) return where(row && column);
    else return where(near_on(0, [=](auto const& t) { return t / (across * down); }) && row && column);
}
template <class... Others>
    requires(sizeof...(Others) != 3)
constexpr ill_formed sliding_tiles(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
