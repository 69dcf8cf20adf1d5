// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop that keeps all scores of a tile: for normalizers of whole rows, and where weights are asked for.
#pragma once

#include <fovea/driver/dense/online.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The dense traversal where weights are asked for, or a normalizer needs whole rows: the scores of a tile of rows are
/// kept, from the first key that any of them sees to the last.
template <class T, class Arch>
class whole_rows {
    using shape = plan::key_lanes_blocking<T, Arch>;
    using tile = score_tile<shape>;
    using call_type = attention_call<shape>;
    using head_blocks = head_pairs<shape>;
    using scratch_type = typename tile::scratch;
    using block = score_block<shape>;

public:
    explicit whole_rows(call_type const& call) : call_(call), mask_(call) {}

    template <class Executor>
    void run(Executor const& executor, workspace& scratch, bool outputs_sum_over_queries) const {
        for_row_blocks<shape>(
            executor, scratch, call_, outputs_sum_over_queries,
            [&](arena& memory, index_range head_groups, index_range rows) { run_heads(memory, head_groups, rows); });
    }

private:
    /// Columns of the score rows; column c is key first_key + c.
    struct columns {
        index_t first_key;  // the first of a block
        index_t from, to;   // columns with scores: whole packs

        index_t first_block() const { return (first_key + from) / shape::block_keys; }
        index_t last_block() const { return ceil_div(first_key + to, shape::block_keys); }
    };

    /// What is seen of a block of keys: by a block of rows, and whether anything by the tile at hand.
    struct seen_keys {
        truth by_rows;
        bool by_tile;
    };

    void run_heads(arena& memory, index_range head_groups, index_range rows) const;

    /// Some columns of the score rows.
    static block scores_of(scratch_type& scratch, columns const& at, index_t from, index_t to) {
        return {.first = at.first_key + from,
                .count = to - from,
                .scores = scratch.scores + from,
                .stride = scratch.stride,
                .visible = scratch.visible + from};
    }

    /// S, for all keys that a row of the tile sees; pairs between runs are excluded.
    columns score(panel_count& counts, tile const& rows, head_blocks& from, scratch_type& scratch, index_range blocks,
                  seen_keys* seen, search_pace& pace) const {
        columns at{from.first(blocks.first), 0, 0};
        auto const extend = [&](index_t first, index_t last) {
            if (at.to == 0) at.from = first;
            for (index_t r = 0; r < rows.rows().count && at.to > 0 && at.to < first; ++r)
                std::fill(scratch.scores + r * scratch.stride + at.to, scratch.scores + r * scratch.stride + first,
                          excluded<T>);
            at.to = last;
        };
        for (index_t k = blocks.first; k < blocks.last; ++k) {
            seen[k].by_tile = false;
            if (seen[k].by_rows.never()) continue;
            auto const runs = mask_.runs(rows, from.first(k), from.last(k), seen[k].by_rows, pace);
            for (auto const granules : runs) {
                seen[k].by_tile = true;
                key_run<shape> const run{k, granules, runs.mixed};
                count_panels(counts, run);
                from.prepare(k);
                auto const scores =
                    rows.score(call_, mask_, from.keys, run, scratch, false, from.next, from.first(k) - at.first_key);
                index_t const column = scores.first - at.first_key;
                extend(column, column + scores.packs() * shape::lanes);
            }
        }
        return at;
    }

    /// P of whole rows, the outputs that read rows, and P V.
    void finish(tile const& rows, row_sums<T>& sums, head_blocks& from, scratch_type& scratch, columns const& at,
                seen_keys const* seen) const {
        auto const& functions = call_.sums;
        bool nonfinite = !functions.is_linear;
        for (index_t k = at.first_block(); k < at.last_block() && !functions.selects; ++k)
            nonfinite = nonfinite || !from.values.finite(k);
        auto const scores = scores_of(scratch, at, at.from, at.to);
        if (nonfinite || functions.clears_excluded) rows.mark_visible(scores);
        functions.normalize(call_, rows.rows(), sums, scores);
        for (index_t k = at.first_block(); k < at.last_block() && !functions.selects; ++k) {
            if (!seen[k].by_tile) continue;
            from.prepare(k);
            index_t const first = std::max(from.first(k) - at.first_key, at.from),
                          last = std::min(from.last(k) - at.first_key, at.to);
            add_values(rows.rows(), sums, from, scores_of(scratch, at, first, last), nonfinite);
        }
        functions.finish(call_, rows.rows(), sums);
    }

    /// O += P V for one block of keys.
    void add_values(tile_rows<shape> const& rows, row_sums<T>& sums, head_blocks& from, block const& weights,
                    bool nonfinite) const {
        T ones[shape::rows];
        std::fill_n(ones, shape::rows, T{1});
        if (nonfinite) call_.sums.add_visible(call_, rows, sums, from.values, weights, ones);
        else if (!call_.sums.add_nonzero(call_, rows, sums, from.values, weights))
            call_.sums.add(call_, rows, sums, from.values, weights, ones, from.next);
    }

    call_type const& call_;
    block_mask<shape> mask_;
};

template <class T, class Arch>
void whole_rows<T, Arch>::run_heads(arena& memory, index_range head_groups, index_range rows) const {
    index_t const at_once = mask_.blocks_at_once(head_groups, rows);
    head_blocks from(call_, memory, at_once);
    scratch_type scratch(memory, call_, at_once);
    tile one(memory, call_);
    auto* const seen = memory.template take<seen_keys>(mask_.key_blocks());
    row_sums<T> sums{memory.template take<char>(shape::states * call_.sums.state_bytes),
                     memory.template take<T>(shape::rows * call_.value_width())};
    for (index_t g = head_groups.first; g < head_groups.last; ++g) {
        auto const heads = call_.head_group_at(g);
        from.begin(heads);
        for (index_t b = rows.first; b < rows.last; ++b) {
            index_t const first = b * shape::block_rows, last = std::min(first + shape::block_rows, call_.rows);
            auto const where = call_.span(heads, first, last);
            auto const blocks = mask_.seen_by(where);
            for (index_t k = blocks.first; k < blocks.last; ++k)
                seen[k] = {mask_.coverage(where, from.first(k), from.last(k)), false};
            search_pace pace(2);  // one tile across a boundary of the mask must not lengthen the rows of those after it
            for (index_t r = first; r < last; r += shape::rows) {
                index_t const next = std::min(r + shape::rows, last);
                call_.prefetch_beside(heads, r, next, 0, shape::rows);
                one.begin(call_, heads, r, next - r);
                call_.sums.begin(call_, sums);
                auto const at = score(memory.panels, one, from, scratch, blocks, seen, pace);
                finish(one, sums, from, scratch, at, seen);
            }
        }
    }
}

}  // namespace fovea::FOVEA_SET::driver
