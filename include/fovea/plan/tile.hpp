// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/index.hpp>

namespace fovea::plan {

/// The shape of the work: a register tile is `rows` queries by `vectors` vectors of keys; a panel is that many
/// keys; a block is what stays in the nearest caches while it is used.
///
/// rows * vectors sums, `vectors` keys and one broadcast query fill the registers of the architecture.
template <class T, class Arch>
struct tile {
    static constexpr int lanes = Arch::vector_bytes / static_cast<int>(sizeof(T));
    static constexpr int vectors = 2;
    static constexpr int rows = Arch::registers >= 32 ? 12 : 6;
    static constexpr int row_steps[] = {1, rows / 3, 2 * rows / 3, rows};  // register tiles for few queries
    /// Vectors of a value that are met with `n` rows at a time: few rows leave registers for more of each value.
    static constexpr int value_vectors(int n) { return n == 1 ? rows / 2 : n <= rows / 3 ? rows / 3 : vectors; }
    /// Few rows that are met with `n` vectors of a value at a time.
    static constexpr int rows_with(int n) { return n >= 8 ? rows / 6 : rows / 3; }
    static constexpr index_t panel = index_t{vectors} * lanes;  // keys
    static constexpr index_t panels = 16;                       // panels of a block of keys
    static constexpr index_t block_keys = panels * panel;
    static constexpr index_t block_rows = index_t{16} * rows;
};

}  // namespace fovea::plan
