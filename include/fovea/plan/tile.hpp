// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/index.hpp>

#include <cstdint>
#include <limits>

namespace fovea::FOVEA_SET::plan {

/// The shape of the work with a key in each lane: a register tile is `mr` queries by `nv` vectors of keys, a panel is
/// that many keys, a block is what stays in the L1 and L2 caches while it is used.
///
/// mr * nv sums, nv vectors of keys and one broadcast query fill the registers of the architecture.
template <class T, class Arch>
struct tile {
    static constexpr int lanes = Arch::vector_bytes / static_cast<int>(sizeof(T));
    static constexpr int mr = Arch::registers >= 32 ? 12 : 6, nv = 2;
    static constexpr int rows = mr;  // queries
    static constexpr int last_step = 3;
    static constexpr int row_step(int n) {
        return n == 0 ? 1 : n * rows / last_step;
    }  // register tiles for few queries
    /// Vectors of a value for `n` rows at a time: few rows leave registers for more of each value.
    static constexpr int value_vectors(int n) { return n == 1 ? rows / 2 : n <= rows / 3 ? rows / 3 : nv; }
    /// Few rows for `n` vectors of a value at a time.
    static constexpr int rows_with(int n) { return n >= 8 ? rows / 6 : rows / 3; }
    static constexpr index_t pack = lanes;   // keys of the smallest run that is left out
    static constexpr bool pads_keys = true;  // behind the last key, to whole packs
    static constexpr int packs_per_panel = nv;
    static constexpr index_t panel = packs_per_panel * pack;  // keys
    static constexpr index_t panels = 16;                     // panels of a block of keys
    static constexpr index_t block_keys = panels * panel;
    static constexpr index_t block_rows = index_t{16} * rows;
};

/// The shape of the work with a query in each lane: a register tile is `mr` keys, or features of a value, by up to `nv`
/// vectors of queries, and what these are multiplied by is read element by element.
template <class T, class Arch>
struct lane_tile {
    static constexpr int lanes = Arch::vector_bytes / static_cast<int>(sizeof(T));  // queries
    static constexpr int mr = Arch::registers >= 32 ? 8 : 6, nv = Arch::registers >= 32 ? 3 : 2;
    /// Features, which lie side by side, where there are `n` vectors: one alone would wait for its own sums.
    static constexpr int features_with(int n) { return n == 1 ? 2 * mr : mr; }
    static constexpr index_t rows = index_t{nv} * lanes;
    static constexpr index_t pack = mr;  // keys of the smallest run that is left out
    static constexpr int packs_per_panel = 2;
    static constexpr bool pads_keys = false;
    static constexpr index_t panel = packs_per_panel * pack;  // keys
    static constexpr index_t panels = 128 / panel;            // of a block of keys
    static constexpr index_t block_keys = panels * panel;
    static constexpr index_t block_rows = 4 * rows;

    /// True where so many queries fill three quarters of what their features, the other choice, fill of vectors.
    static constexpr bool suits(index_t queries, index_t features) {
        return 4 * queries * ((features + lanes - 1) / lanes) >= 3 * features;
    }
    /// So many heads of a group that has the same keys share vectors, so that each number of a key is broadcast for
    /// more queries: where those of one do not fill a tile. Where the rest of the score differs by query or head, it
    /// costs more of lanes that are not neighbours, and heads share only vectors that one does not fill. Positions of
    /// keys must fit lanes, which then hold them as they are.
    static constexpr index_t sharing(index_t queries, index_t group, index_t keys, bool differs) {
        bool const fills = differs ? suits(queries, lanes) : queries >= rows;
        return fills || keys > std::numeric_limits<std::int32_t>::max() ? 1 : group;
    }
};

}  // namespace fovea::FOVEA_SET::plan
