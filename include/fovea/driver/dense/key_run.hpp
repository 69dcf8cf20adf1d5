// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs of adjacent keys of a block, and which of their panels are masked.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/driver/run/arena.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Adjacent granules of a block of keys; a granule is the fewest keys that a mask leaves out.
template <class Tile>
struct granule_run {
    index_t first, last;
    constexpr index_t first_panel() const { return first / Tile::granules_per_panel; }
    constexpr index_t last_panel() const { return ceil_div(last, Tile::granules_per_panel); }
};

/// A run of granules of a block of keys; mixed[p] tells of panel p whether the mask has to be applied.
template <class Tile>
struct key_run {
    index_t block;
    granule_run<Tile> granules;
    bool const* mixed;
};

/// Calls f(first, granules, masked) for adjacent panels of a run that are masked, or not, alike.
template <class Tile, class F>
void for_spans(key_run<Tile> const& at, F const& f) {
    auto const run = at.granules;
    bool const* const mixed = at.mixed;
    for (index_t first = run.first; first < run.last;) {
        index_t panel = first / Tile::granules_per_panel;
        bool const masked = mixed[panel];
        while (panel < run.last_panel() && mixed[panel] == masked) ++panel;
        index_t const last = std::min(panel * Tile::granules_per_panel, run.last);
        f(first, last - first, masked);
        first = last;
    }
}

/// True where a panel of a run is mixed.
template <class Tile>
bool any_mixed(key_run<Tile> const& at) {
    return std::any_of(at.mixed + at.granules.first_panel(), at.mixed + at.granules.last_panel(),
                       [](bool is_mixed) { return is_mixed; });
}

/// Counts the panels of a run.
template <class Tile>
void count_panels(panel_count& panels, key_run<Tile> const& at) {
    for (index_t p = at.granules.first_panel(); p < at.granules.last_panel(); ++p)
        ++(at.mixed[p] ? panels.mixed : panels.full);
}

/// How many tasks the blocks of rows of each head are divided into: one for a single worker.
constexpr index_t shares(index_t workers, index_t heads, index_t blocks) {
    index_t const wanted = workers == 1 ? 1 : 8 * workers;
    return std::clamp<index_t>(ceil_div(wanted, std::max<index_t>(heads, 1)), 1, std::max<index_t>(blocks, 1));
}

}  // namespace fovea::FOVEA_SET::driver
