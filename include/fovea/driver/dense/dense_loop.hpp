// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/visible_runs.hpp>
#include <fovea/driver/prefetch.hpp>

#include <algorithm>
#include <new>

namespace fovea::FOVEA_SET::driver {

/// The dense traversal: blocks of rows against blocks of keys. Empty blocks are skipped, full ones are not masked;
/// mixed ones are looked at tile by tile and panel by panel.
///
/// A tile of queries, `Tile`, says where its rows stand in vectors and what is carried for them:
///
///     shape                               a plan's blocks: rows, block_rows, pack, panel, block_keys
///     keys(call, memory, blocks)          the keys and values of a head, packed or in place
///     room(memory, blocks)                scores and weights of one tile
///     begin(call, head, first, count, keys)
///     score(call, visible, keys, part, room, trims)      S, with the maximum of each row where it is computed so
///     any_excluded(keys, part, room), mark_visible(keys, part, room)
///     fold(call, keys, part, room)              P, and what was summed before is worth
///     add(call, keys, part, room), add_visible(call, keys, part, room)
///     finish(call)
template <class Tile>
class dense_loop {
    using call = typename Tile::call;
    using shape = typename Tile::shape;
    using keys_type = typename Tile::keys;
    using room_type = typename Tile::room;
    using part = key_part<shape>;
    using visible = visible_runs<call, shape>;
    static constexpr index_t tiles_per_block = shape::block_rows / shape::rows;

public:
    explicit dense_loop(dense_context<call> const& context) : call_(context), visible_(context) {}

    template <class Executor>
    void run(Executor const& executor, workspace& scratch) const {
        for_row_blocks<shape>(executor, scratch, call_, [&](arena& memory, head_group head, block_range rows) {
            run_head(memory, head, rows, {0, visible_.key_blocks()});
        });
    }

    /// Some blocks of rows of one head against some blocks of keys. Where there is a place for partial sums, what rows
    /// come to is left there.
    [[gnu::noinline]] void run_head(arena& memory, head_group head, block_range rows, block_range blocks,
                                    typename Tile::place const& partial = {}) const {
        keys_type keys(call_, memory, keys_type::packs && rows.size() > 1 ? visible_.blocks_at_once(head, rows) : 1);
        keys.begin(head);
        room_type room(memory, 1);
        index_t const most = std::min(tiles_per_block, (call_.rows + shape::rows - 1) / shape::rows);
        auto* const tiles = memory.template take<Tile>(most);
        for (index_t t = 0; t < most; ++t) new (tiles + t) Tile(memory, call_, partial.tile(t, keys));
        for (index_t b = rows.first; b < rows.last; ++b) {
            index_t const first = b * shape::block_rows, last = std::min(first + shape::block_rows, call_.rows);
            row_block const block{head, first, last, (last - first + shape::rows - 1) / shape::rows, b == rows.first};
            for (index_t t = 0; t < block.tiles; ++t) {
                index_t const row = first + t * shape::rows;
                tiles[t].begin(call_, head, row, std::min<index_t>(shape::rows, last - row), keys);
            }
            attend_block(block, tiles, keys, room, blocks, memory.tiles);
            for (index_t t = 0; t < block.tiles && partial.empty(); ++t) tiles[t].finish(call_);
        }
    }

private:
    struct row_block {
        head_group head;
        index_t first, last;  // rows
        index_t tiles;
        bool is_first;  // of a task: it reads keys and values that are not in a cache
    };

    //! [flash]
    /// Flash attention (Dao and others, 2022, algorithm 1): tiles of queries Q against keys and values K, V, some of
    /// a block at a time; m is the running maximum of each row, l its running sum, O the sum of values.
    void attend_block(row_block const& rows, Tile* tiles, keys_type& keys, room_type& room, block_range blocks,
                      tile_count& counts) const {
        auto const where = call_.span(rows.head, rows.first, rows.last);
        bool begun = false;
        for (index_t k = blocks.first; k < blocks.last; ++k) {
            auto const seen = visible_.coverage(where, keys.first(k), keys.last(k));
            if (seen.never()) continue;  // an empty block of the mask
            keys.prepare(k, rows.is_first);
            for (index_t t = 0; t < rows.tiles; ++t) {
                if (!begun && call_.rows > shape::block_rows) prefetch_beside(rows, t);
                auto& tile = tiles[t];
                visible_.for_runs(tile, keys.first(k), keys.last(k), seen, [&](pack_run<shape> run, bool const* mixed) {
                    count_panels(counts, run, mixed);
                    part const at{k, run, mixed};
                    bool const masked = any_mixed(run, mixed);
                    bool nonfinite = may_exclude(masked) && !is_finite(keys, k);        // values, beside excluded pairs
                    tile.score(call_, visible_, keys, at, room, masked && !nonfinite);  // S = score(Q K^T), or excluded
                    if (!may_exclude(masked)) nonfinite = finds_nonfinite(tile, keys, at, room);
                    if (nonfinite) tile.mark_visible(keys, at, room);
                    tile.fold(call_, keys, at, room);  // m, l, P = fold(m, l, S); for softmax P = exp(S - m)
                    if constexpr (!call::selects) {    // O = O * rescale + P V; for softmax rescale = exp(m before - m)
                        if (nonfinite) tile.add_visible(call_, keys, at, room);
                        else tile.add(call_, keys, at, room);
                    }
                });
            }
            begun = true;
        }
    }
    //! [flash]

    /// Scores of excluded pairs become weights of 0, and 0 times a value is 0, if the value is finite. A pair is
    /// excluded by the mask, by what is computed of its product, or because the product itself is -inf.
    static constexpr bool may_exclude(bool masked) { return !call::selects && (masked || !call::is_bare_product); }
    static bool is_finite(keys_type& keys, index_t block) { return call::adds && keys.finite(block); }

    /// Looks at products alone. Whether values are finite is remembered for the tiles that follow.
    bool finds_nonfinite(Tile const& tile, keys_type& keys, part const& at, room_type const& room) const {
        if (call::selects) return false;
        auto const excludes = [&] { return tile.any_excluded(keys, at, room); };
        return call_.rows <= shape::rows ? excludes() && !is_finite(keys, at.block)
                                         : !is_finite(keys, at.block) && excludes();
    }

    /// The same tile of the next block follows.
    FOVEA_INLINE void prefetch_beside(row_block const& rows, index_t t) const {
        row_place now{rows.head.batch, rows.head.head, rows.first}, next = now;
        next.query = rows.last;
        next = row_after(next, call_.rows, call_.heads);
        now.query += t * shape::rows;
        next.query += t * shape::rows;
        driver::prefetch_beside(call_.operands, call_.group, now, next, shape::rows);
    }

    dense_context<call> const& call_;
    visible visible_;
};

}  // namespace fovea::FOVEA_SET::driver
