// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/mask/neighborhood.hpp>

namespace fovea::FOVEA_SET {

/// sliding_tiles: a neighborhood of whole tiles, so that blocks of pairs are either seen or not.
///
///     sliding_tiles({rows, columns}, {tile height, tile width}, {height, width})    three of each in a volume
///
/// The window is counted in tiles around the tile of the query and moves inwards at the borders. Positions run tile by
/// tile, row by row within one, and so do the tiles. Extents are multiples of the tiles.
/// Cost: with tiles of as many places as a block of pairs, no pair is masked. Source: Zhang et al. 2025, section 3.2.
template <std::size_t Axes>
constexpr auto sliding_tiles(index_t const (&window)[Axes], index_t const (&tile)[Axes],
                             index_t const (&extent)[Axes]) {
    static_assert(Axes == 2 || Axes == 3, "fovea: sliding tiles cover a plane or a volume");
    using namespace placeholders;
    index_t size = 1;
    for (index_t const places : tile) size *= places;
    auto const near_on = [&](std::size_t axis, auto const& place) {
        return detail::is_near(place(q_idx / size), place(kv_idx / size), window[axis], extent[axis] / tile[axis]);
    };
    index_t const across = extent[Axes - 1] / tile[Axes - 1], down = extent[Axes - 2] / tile[Axes - 2];
    auto const column = near_on(Axes - 1, [=](auto const& t) { return t % across; });
    auto const row = near_on(Axes - 2, [=](auto const& t) { return t / across % down; });
    if constexpr (Axes == 2) return where(row && column);
    else return where(near_on(0, [=](auto const& t) { return t / (across * down); }) && row && column);
}

}  // namespace fovea::FOVEA_SET
