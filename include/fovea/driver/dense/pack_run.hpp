// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/driver/arena.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Neighbouring packs of the keys of a block.
template <class Tile>
struct pack_run {
    index_t first, last;
    constexpr index_t first_panel() const { return first / Tile::packs_per_panel; }
    constexpr index_t last_panel() const { return (last + Tile::packs_per_panel - 1) / Tile::packs_per_panel; }
};

/// Some packs of a block of keys; mixed[p] tells of panel p whether the mask has to be applied.
template <class Tile>
struct key_part {
    index_t block;
    pack_run<Tile> run;
    bool const* mixed;
};

/// Calls f(first, packs, masked) for neighbouring panels of a run that are masked, or not, alike.
template <class Tile, class F>
void for_spans(key_part<Tile> const& part, F const& f) {
    auto const run = part.run;
    bool const* const mixed = part.mixed;
    for (index_t first = run.first; first < run.last;) {
        index_t panel = first / Tile::packs_per_panel;
        bool const masked = mixed[panel];
        while (panel < run.last_panel() && mixed[panel] == masked) ++panel;
        index_t const last = std::min(panel * Tile::packs_per_panel, run.last);
        f(first, last - first, masked);
        first = last;
    }
}

/// True where a panel of a run is mixed.
template <class Tile>
bool any_mixed(key_part<Tile> const& part) {
    return std::any_of(part.mixed + part.run.first_panel(), part.mixed + part.run.last_panel(),
                       [](bool is_mixed) { return is_mixed; });
}

/// Counts the panels of a run.
template <class Tile>
void count_panels(tile_count& tiles, key_part<Tile> const& part) {
    for (index_t p = part.run.first_panel(); p < part.run.last_panel(); ++p)
        ++(part.mixed[p] ? tiles.mixed : tiles.full);
}

/// How many tasks the rows of each head are divided into: one for a single worker.
constexpr index_t shares(index_t workers, index_t heads, index_t blocks) {
    index_t const wanted = workers == 1 ? 1 : 8 * workers;
    return std::clamp<index_t>((wanted + heads - 1) / std::max<index_t>(heads, 1), 1, std::max<index_t>(blocks, 1));
}

}  // namespace fovea::FOVEA_SET::driver
