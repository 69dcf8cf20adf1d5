// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dense loop: blocks of queries against the blocks of keys that they see, for any pass over their scores.
#pragma once

#include <fovea/driver/dense/block_mask.hpp>

#include <algorithm>
#include <concepts>
#include <new>

namespace fovea::FOVEA_SET::driver {

/// A pass over the scores of a tile of rows, a run of keys at a time (driver/dense/pass/online.hpp is attention):
///
///     call_type, blocking                     a dense_rows with its functions; a plan's blocks
///     head_blocks(call, memory, entries)        the keys, and what lies beside them, of one head, block by block:
///                                             begin(heads), first(block), last(block), prepare(block), and, if it has
///                                             that, finish() after the last row of the task
///     scratch(memory, call, blocks)           the scores of one tile
///     prefetches_rows                         results, and queries of the next block, are prefetched
///     keeps_scores                            a block of rows is one tile, whose scores of all keys are kept
///     partial_sums                            where the pass leaves what is unfinished: tile(t, call), empty()
///     begin(call, heads, first, count)        the rows of the tile
///     take(call, mask, keys, run, scratch)    S for a run of keys, and what is made of it
///     sweeps(call), begin_sweep(call, n)      where the keys may be gone over more than once: how often; the n-th
///     finish(call, keys, scratch)             after the last key
template <class P>
concept pass = requires(P& p, typename P::call_type const& call, block_mask<typename P::blocking> const& mask,
                        typename P::head_blocks& keys, key_run<typename P::blocking> const& run,
                        typename P::scratch& scratch, arena& memory, typename P::partial_sums const& partial) {
    requires std::derived_from<typename P::call_type, dense_rows>;
    { P::prefetches_rows } -> std::convertible_to<bool>;
    { P::keeps_scores } -> std::convertible_to<bool>;
    { P::head_blocks::packs } -> std::convertible_to<bool>;
    P(memory, call, partial.tile(index_t{0}, call));
    { partial.empty() } -> std::same_as<bool>;
    keys.begin(head_group{});
    keys.prepare(index_t{0});
    { keys.first(index_t{0}) } -> std::same_as<index_t>;
    { keys.last(index_t{0}) } -> std::same_as<index_t>;
    p.begin(call, head_group{}, index_t{0}, index_t{0});
    { p.span(call) } -> std::same_as<box>;
    { p.whole_panels() } -> std::same_as<bool>;
    p.take(call, mask, keys, run, scratch);
    p.finish(call, keys, scratch);
};

/// The dense traversal: blocks of rows against blocks of keys. Empty blocks are skipped, full ones are not masked;
/// of mixed ones each tile and panel is classified again.
template <pass Pass>
class dense_loop {
    using call_type = typename Pass::call_type;
    using blocking = typename Pass::blocking;
    using head_blocks = typename Pass::head_blocks;
    using scratch_type = typename Pass::scratch;
    static constexpr index_t rows_at_once = Pass::keeps_scores ? blocking::rows : blocking::block_rows;
    /// One tile across a boundary of the mask must not lengthen the rows of those after it.
    static constexpr index_t tries = Pass::keeps_scores ? 2 : 1;
    static constexpr bool sweeps_again = requires(call_type const& call) { Pass::sweeps(call); };
    static int sweeps(call_type const& call) {
        if constexpr (sweeps_again) return Pass::sweeps(call);
        else return 1;
    }

public:
    explicit dense_loop(call_type const& call) : call_(call), mask_(call) {}

    template <class Executor>
    void run(Executor const& executor, workspace& scratch, bool outputs_reduce_over_queries) const {
        for_row_blocks<blocking>(executor, scratch, call_, outputs_reduce_over_queries,
                                 [&](arena& memory, index_range head_groups, index_range rows) {
                                     run_heads(memory, head_groups, rows, {0, key_blocks()}, {});
                                 });
    }

    index_t key_blocks() const { return mask_.key_blocks(); }

    /// Blocks of rows of some head groups against blocks of keys. What is unfinished is left in `partial`, if it is not
    /// empty.
    FOVEA_CONTROL void run_heads(arena& memory, index_range head_groups, index_range rows, index_range blocks,
                                 typename Pass::partial_sums const& partial) const;

private:
    struct row_block {
        head_group heads;
        index_t first, last;  // rows
        index_t tiles;
    };

    //! [loop]
    FOVEA_CONTROL void run_block(row_block const& rows, Pass* tiles, head_blocks& keys, scratch_type& scratch,
                                 index_range blocks, search_back_off& back_off, panel_count& counts) const {
        auto const where = call_.span(rows.heads, rows.first, rows.last);
        bool begun = false;
        for (index_t k = blocks.first; k < blocks.last; ++k) {
            auto const seen = mask_.coverage(where, keys.first(k), keys.last(k));
            if (seen.never()) continue;  // an empty block of the mask
            keys.prepare(k);
            for (index_t t = 0; t < rows.tiles; ++t) {
                if (Pass::prefetches_rows && !begun && call_.rows > rows_at_once)  // the next block's tile follows
                    call_.prefetch_beside(rows.heads, rows.first, rows.last, t * blocking::rows, blocking::rows);
                auto const runs = mask_.runs(tiles[t], keys.first(k), keys.last(k), seen, back_off);
                for (auto const run : runs) {
                    key_run<blocking> const at{k, run, runs.mixed, &back_off.cuts};
                    count_panels(counts, at);
                    tiles[t].take(call_, mask_, keys, at, scratch);
                }
            }
            begun = true;
        }
    }
    //! [loop]

    call_type const& call_;
    block_mask<blocking> mask_;
};

template <pass Pass>
void dense_loop<Pass>::run_heads(arena& memory, index_range head_groups, index_range rows, index_range blocks,
                                 typename Pass::partial_sums const& partial) const {
    bool const returns = Pass::keeps_scores || (head_blocks::packs && rows.size() > 1);  // to blocks of keys
    index_t const entries = returns ? mask_.blocks_at_once(head_groups, rows) : 1;
    auto keys = [&] {
        if constexpr (requires { partial.of_keys; }) return head_blocks(call_, memory, entries, partial.of_keys);
        else return head_blocks(call_, memory, entries);
    }();
    scratch_type scratch(memory, call_, Pass::keeps_scores ? entries : 1);
    index_t const most = ceil_div(std::min<index_t>(rows_at_once, call_.rows), blocking::rows);
    auto* const tiles = memory.template take<Pass>(most);
    for (index_t t = 0; t < most; ++t) new (tiles + t) Pass(memory, call_, partial.tile(t, call_));
    if (memory.measures()) return;
    for (index_t g = head_groups.first; g < head_groups.last; ++g) {
        auto const heads = call_.head_group_at(g);
        keys.begin(heads);
        search_back_off back_off;
        index_t const end = std::min(rows.last * blocking::block_rows, call_.rows);
        for (index_t first = rows.first * blocking::block_rows; first < end; first += rows_at_once) {
            index_t const last = std::min(first + rows_at_once, end);
            row_block const block{heads, first, last, ceil_div(last - first, blocking::rows)};
            for (index_t t = 0; t < block.tiles; ++t) {
                index_t const row = first + t * blocking::rows;
                tiles[t].begin(call_, heads, row, std::min<index_t>(blocking::rows, last - row));
            }
            for (int sweep = 0, count = sweeps(call_); sweep < count; ++sweep) {
                if constexpr (sweeps_again)
                    for (index_t t = 0; t < block.tiles; ++t) tiles[t].begin_sweep(call_, sweep);
                if (first % blocking::block_rows == 0) back_off = search_back_off(tries);
                run_block(block, tiles, keys, scratch, blocks, back_off, memory.panels);
            }
            for (index_t t = 0; t < block.tiles && partial.empty(); ++t) tiles[t].finish(call_, keys, scratch);
        }
        if constexpr (requires { keys.finish(); }) keys.finish();
    }
}

}  // namespace fovea::FOVEA_SET::driver
