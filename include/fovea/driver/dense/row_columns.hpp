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
///     for_tiles(...)    calls f(row, count, back_off) for each tile of a block of rows
///     for_runs(...)     calls f(run, column) for each run of keys that the tile sees; columns between are excluded
///     for_blocks(...)   calls f(block, from, to) for the columns of each block that the tile sees something of
template <class Blocking>
class row_columns {
    using T = typename Blocking::number;
    using tile = score_tile<Blocking>;
    using scratch = typename tile::scratch;

public:
    index_t first_key = 0;     // the first of a block
    index_t from = 0, to = 0;  // columns with scores: whole packs

    row_columns(arena& memory, block_mask<Blocking> const& mask)
        : mask_(mask), seen_(memory.template take<seen_keys>(mask.key_blocks())) {}

    template <class Call, class Blocks, class F>
    void for_tiles(Call const& call, head_group heads, index_t block, Blocks const& keys, F const& f) {
        index_t const first = block * Blocking::block_rows, last = std::min(first + Blocking::block_rows, call.rows);
        begin(call.span(heads, first, last), keys);
        search_back_off back_off(
            2);  // one tile across a boundary of the mask must not lengthen the rows of those after it
        for (index_t r = first; r < last; r += Blocking::rows)
            f(r, std::min<index_t>(Blocking::rows, last - r), back_off);
    }

    template <class Blocks, class F>
    void for_runs(tile const& rows, Blocks& keys, scratch& to_rows, search_back_off& back_off, F const& f) {
        from = to = 0;
        for (index_t k = blocks_.first; k < blocks_.last; ++k) {
            seen_[k].by_tile = false;
            if (seen_[k].by_rows.never()) continue;
            auto const runs = mask_.runs(rows, keys.first(k), keys.last(k), seen_[k].by_rows, back_off);
            for (auto const granules : runs) {
                seen_[k].by_tile = true;
                key_run<Blocking> const run{k, granules, runs.mixed};
                keys.prepare(k);
                auto const scores = f(run, keys.first(k) - first_key);
                index_t const first = scores.first - first_key;
                if (to == 0) from = first;
                for (index_t r = 0; r < rows.rows().count && to < first; ++r)
                    std::fill(to_rows.scores + r * to_rows.stride + std::max(to, from),
                              to_rows.scores + r * to_rows.stride + first, excluded<T>);
                to = first + scores.packs() * Blocking::lanes;
            }
        }
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

    index_t first_block() const { return (first_key + from) / Blocking::block_keys; }
    index_t last_block() const { return ceil_div(first_key + to, Blocking::block_keys); }
    template <class Blocks, class F>
    void for_blocks(Blocks& keys, F const& f) const {
        for (index_t k = first_block(); k < last_block(); ++k) {
            if (!seen_[k].by_tile) continue;
            keys.prepare(k);
            f(k, std::max(keys.first(k) - first_key, from), std::min(keys.last(k) - first_key, to));
        }
    }

private:
    template <class Blocks>
    void begin(box const& where, Blocks const& keys) {
        blocks_ = mask_.seen_by(where);
        for (index_t k = blocks_.first; k < blocks_.last; ++k)
            seen_[k] = {mask_.coverage(where, keys.first(k), keys.last(k)), false};
        first_key = keys.first(blocks_.first);
    }

    /// The part of a block of keys that is seen: by a block of rows, and whether anything by the tile at hand.
    struct seen_keys {
        truth by_rows;
        bool by_tile;
    };

    block_mask<Blocking> const& mask_;
    seen_keys* seen_;  // (blocks)
    index_range blocks_{0, 0};
};

}  // namespace fovea::FOVEA_SET::driver
