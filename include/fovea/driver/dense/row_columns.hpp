// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the scores of whole rows lie: the keys that a tile of rows sees, block by block, as columns of its scores.
#pragma once

#include <fovea/driver/dense/block_mask.hpp>
#include <fovea/driver/dense/score_tile.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The scores of a tile of rows from the first key that any of them sees to the last, as columns: column c is key
/// first_key + c.
///
///     take(...)          a run of keys that the tile sees, scored by score(column); columns between are excluded
///     for_blocks(...)    calls f(block, from, to) for the columns of each block that the tile sees something of
template <class Blocking>
class row_columns {
    using T = typename Blocking::number;
    using tile = score_tile<Blocking>;
    using scratch = typename tile::scratch;

public:
    index_t first_key = 0;     // the first of a block
    index_t from = 0, to = 0;  // columns with scores: whole packs

    row_columns(arena& memory, dense_rows const& call)
        : blocks_(memory.template take<index_t>(ceil_div(call.keys, Blocking::block_keys))) {}

    void begin() { count_ = first_key = from = to = 0; }

    template <class Blocks, class Score>
    void take(tile const& rows, Blocks const& keys, key_run<Blocking> const& run, scratch& to_rows,
              Score const& score) {
        index_t const first_of_block = keys.first(run.block);
        if (count_ == 0) first_key = first_of_block;
        if (count_ == 0 || blocks_[count_ - 1] != run.block) blocks_[count_++] = run.block;
        auto const scores = score(first_of_block - first_key);
        index_t const first = scores.first - first_key;
        if (to == 0) from = first;
        for (index_t r = 0; r < rows.rows().count && to < first; ++r)
            std::fill(to_rows.scores + r * to_rows.stride + std::max(to, from),
                      to_rows.scores + r * to_rows.stride + first, excluded<T>);
        to = first + scores.packs() * Blocking::lanes;
    }

    /// Some columns of the scores.
    score_block<Blocking> part(scratch& of, index_t first, index_t last) const {
        return {.first = first_key + first,
                .count = last - first,
                .scores = of.scores + first,
                .stride = of.stride,
                .plane_stride = of.plane_stride(),
                .visible = of.visible + first};
    }

    template <class Blocks, class F>
    void for_blocks(Blocks& keys, F const& f) const {
        for (index_t n = 0; n < count_; ++n) {
            index_t const k = blocks_[n];
            keys.prepare(k);
            f(k, std::max(keys.first(k) - first_key, from), std::min(keys.last(k) - first_key, to));
        }
    }

private:
    index_t* blocks_;  // that the tile sees something of, in order
    index_t count_ = 0;
};

}  // namespace fovea::FOVEA_SET::driver
