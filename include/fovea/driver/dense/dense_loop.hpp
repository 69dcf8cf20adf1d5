// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The flash loop: blocks of queries against blocks of keys with an online normalizer, for any kind of tile.
#pragma once

#include <fovea/driver/dense/block_mask.hpp>
#include <fovea/driver/dense/dense_context.hpp>

#include <algorithm>
#include <new>

namespace fovea::FOVEA_SET::driver {

/// The dense traversal: blocks of rows against blocks of keys. Empty blocks are skipped, full ones are not masked;
/// of mixed ones each tile and panel is classified again.
///
/// A tile of queries, `Tile`, knows whether lanes hold its rows or keys, and keeps the state of its rows:
///
///     shape                                   a plan's blocks: rows, block_rows, granule, panel, block_keys
///     selects(call), is_linear(call)          one key wins; O is a sum of weighted values
///     prefetches_rows                         results, and queries of the next block, are prefetched
///     is_bare_product(call)                   a score is a product, nothing is computed of it
///     keys(call, memory, blocks)              the keys and values of a head, packed or in place: packs, begin(heads),
///                                             first, last, finite(block), prepare(block)
///     place                                   where unfinished sums are left: tile(t, keys), empty()
///     scratch(memory, call, blocks)           scores and weights of one tile
///     Tile(memory, call, place), begin(call, heads, first, count, keys), span(call), whole_panels()
///     score(call, mask, keys, run, scratch, trims)    S, with the maximum of each row where it is computed so
///     any_excluded(keys, run, scratch), mark_visible(keys, run, scratch)
///     fold(call, keys, run, scratch)          P, and the rescale factors of the sums so far
///     add(call, keys, run, scratch), add_visible(call, keys, run, scratch)    O
///     finish(call)                            the results of its rows
template <class Tile>
class dense_loop {
    using call = typename Tile::call;
    using shape = typename Tile::shape;
    using keys_type = typename Tile::keys;
    using scratch_type = typename Tile::scratch;
    using key_run = driver::key_run<shape>;
    static constexpr index_t tiles_per_block = shape::block_rows / shape::rows;

public:
    explicit dense_loop(call const& context) : call_(context), mask_(context) {}

    template <class Executor>
    void run(Executor const& executor, workspace& scratch, bool outputs_sum_over_queries) const {
        for_row_blocks<shape>(executor, scratch, call_, outputs_sum_over_queries,
                              [&](arena& memory, index_range head_groups, index_range rows) {
                                  run_heads(memory, head_groups, rows, {0, mask_.key_blocks()}, {});
                              });
    }

    /// Blocks of rows of some head groups against blocks of keys. Where there is a place for partial sums, the sums and
    /// states of the rows are left there, unfinished.
    void run_heads(arena& memory, index_range head_groups, index_range rows, index_range blocks,
                   typename Tile::place const& partial) const;

private:
    struct row_block {
        head_group heads;
        index_t first, last;  // rows
        index_t tiles;
    };

    //! [flash]
    /// FlashAttention-2 (Dao, 2023, algorithm 1): the sums are rescaled when m grows and divided by l once, after the
    /// last key. Tiles of queries Q against keys and values K, V, a block at a time; m is the running maximum of each
    /// row, l its running sum, O the sum of values.
    void attend_block(row_block const& rows, Tile* tiles, keys_type& keys, scratch_type& scratch, index_range blocks,
                      panel_count& counts) const {
        auto const where = call_.span(rows.heads, rows.first, rows.last);
        bool begun = false;
        for (index_t k = blocks.first; k < blocks.last; ++k) {
            auto const seen = mask_.coverage(where, keys.first(k), keys.last(k));
            if (seen.never()) continue;  // an empty block of the mask
            keys.prepare(k);
            for (index_t t = 0; t < rows.tiles; ++t) {
                if (Tile::prefetches_rows && !begun && call_.rows > shape::block_rows)  // the next block's tile follows
                    call_.prefetch_beside(rows.heads, rows.first, rows.last, t * shape::rows, shape::rows);
                auto& tile = tiles[t];
                auto const runs = mask_.runs(tile, keys.first(k), keys.last(k), seen);
                for (auto const run : runs) {
                    key_run const at{k, run, runs.mixed};
                    count_panels(counts, at);
                    bool const masked = any_mixed(at);
                    bool nonfinite = may_exclude(masked) && !is_finite(keys, k);        // values, beside excluded pairs
                    tile.score(call_, mask_, keys, at, scratch, masked && !nonfinite);  // S = score(Q K^T), or excluded
                    if (!may_exclude(masked)) nonfinite = finds_nonfinite(tile, keys, at, scratch);
                    if (nonfinite) tile.mark_visible(keys, at, scratch);
                    tile.fold(call_, keys, at, scratch);  // m, l, P = fold(m, l, S); for softmax P = exp(S - m)
                    if (Tile::selects(call_)) continue;
                    if (nonfinite) tile.add_visible(call_, keys, at, scratch);
                    else tile.add(call_, keys, at, scratch);  // O = O * rescale + P V; rescale = exp(m before - m)
                }
            }
            begun = true;
        }
    }
    //! [flash]

    /// Scores of excluded pairs become weights of 0, and 0 times a value is 0, if the value is finite. A pair is
    /// excluded by the mask, by what is computed of its product, or because the product itself is -inf.
    bool may_exclude(bool masked) const { return !Tile::selects(call_) && (masked || !Tile::is_bare_product(call_)); }
    bool is_finite(keys_type& keys, index_t block) const { return Tile::is_linear(call_) && keys.finite(block); }

    /// Looks at products alone. Whether values are finite is remembered for the tiles that follow, but costs more than
    /// looking at the scores where there are no more rows than a value has features.
    bool finds_nonfinite(Tile const& tile, keys_type& keys, key_run const& at, scratch_type& scratch) const {
        if (Tile::selects(call_)) return false;
        auto const excludes = [&] { return tile.any_excluded(keys, at, scratch); };
        return call_.rows <= std::max<index_t>(shape::rows, call_.value_features)
                 ? excludes() && !is_finite(keys, at.block)
                 : !is_finite(keys, at.block) && excludes();
    }

    call const& call_;
    block_mask<shape> mask_;
};

template <class Tile>
void dense_loop<Tile>::run_heads(arena& memory, index_range head_groups, index_range rows, index_range blocks,
                                 typename Tile::place const& partial) const {
    keys_type keys(call_, memory, keys_type::packs && rows.size() > 1 ? mask_.blocks_at_once(head_groups, rows) : 1);
    scratch_type scratch(memory, call_, 1);
    index_t const most = std::min(tiles_per_block, (call_.rows + shape::rows - 1) / shape::rows);
    auto* const tiles = memory.template take<Tile>(most);
    for (index_t t = 0; t < most; ++t) new (tiles + t) Tile(memory, call_, partial.tile(t, keys));
    for (index_t g = head_groups.first; g < head_groups.last; ++g) {
        auto const heads = call_.head_group_at(g);
        keys.begin(heads);
        for (index_t b = rows.first; b < rows.last; ++b) {
            index_t const first = b * shape::block_rows, last = std::min(first + shape::block_rows, call_.rows);
            row_block const block{heads, first, last, (last - first + shape::rows - 1) / shape::rows};
            for (index_t t = 0; t < block.tiles; ++t) {
                index_t const row = first + t * shape::rows;
                tiles[t].begin(call_, heads, row, std::min<index_t>(shape::rows, last - row), keys);
            }
            attend_block(block, tiles, keys, scratch, blocks, memory.panels);
            for (index_t t = 0; t < block.tiles && partial.empty(); ++t) tiles[t].finish(call_);
        }
    }
}

}  // namespace fovea::FOVEA_SET::driver
