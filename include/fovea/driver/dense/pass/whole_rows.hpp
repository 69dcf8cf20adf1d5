// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop that keeps all scores of a tile: for normalizers of whole rows, and where weights are asked for.
#pragma once

#include <fovea/driver/dense/pass/online.hpp>
#include <fovea/driver/dense/row_columns.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The dense traversal where weights are asked for, or a normalizer needs whole rows: the scores of a tile of rows are
/// kept, from the first key that any of them sees to the last.
template <class T, class Arch>
class whole_rows {
    using blocking = plan::key_lanes_blocking<T, Arch>;
    using tile = score_tile<blocking>;
    using call_type = attention_call<blocking>;
    using head_blocks = head_pairs<blocking>;
    using scratch_type = typename tile::scratch;
    using block = score_block<blocking>;
    using columns = row_columns<blocking>;

public:
    explicit whole_rows(call_type const& call) : call_(call), mask_(call) {}

    template <class Executor>
    void run(Executor const& executor, workspace& scratch, bool outputs_reduce_over_queries) const {
        for_row_blocks<blocking>(
            executor, scratch, call_, outputs_reduce_over_queries,
            [&](arena& memory, index_range head_groups, index_range rows) { run_heads(memory, head_groups, rows); });
    }

private:
    void run_heads(arena& memory, index_range head_groups, index_range rows) const;

    /// S, for all keys that a row of the tile sees; pairs between runs are excluded.
    void score(panel_count& counts, tile const& rows, head_blocks& from, scratch_type& scratch, columns& at,
               search_back_off& back_off) const {
        at.for_runs(rows, from, scratch, back_off, [&](key_run<blocking> const& run, index_t column) {
            count_panels(counts, run);
            return rows.score(call_, mask_, from.keys, run, scratch, false, from.next, column);
        });
    }

    /// P of whole rows, the outputs that read rows, and P V.
    void finish(tile const& rows, online_state<T>& sums, head_blocks& from, scratch_type& scratch,
                columns const& at) const {
        auto const& functions = call_.sums;
        bool nonfinite = !functions.is_linear;
        for (index_t k = at.first_block(); k < at.last_block() && !functions.selects; ++k)
            nonfinite = nonfinite || !from.values.finite(k);
        auto const scores = at.part(scratch, at.from, at.to);
        if (nonfinite || functions.clears_excluded) rows.mark_visible(scores);
        functions.normalize(call_, rows.rows(), sums, scores);
        if (!functions.selects)
            at.for_blocks(from, [&](index_t, index_t first, index_t last) {
                add_values(rows.rows(), sums, from, at.part(scratch, first, last), nonfinite);
            });
        functions.finish(call_, rows.rows(), sums);
    }

    /// O += P V for one block of keys.
    void add_values(tile_rows<blocking> const& rows, online_state<T>& sums, head_blocks& from, block const& weights,
                    bool nonfinite) const {
        T ones[blocking::rows];
        std::fill_n(ones, blocking::rows, T{1});
        if (nonfinite) call_.sums.add_visible(call_, rows, sums, from.values, weights, ones);
        else if (!call_.sums.add_nonzero(call_, rows, sums, from.values, weights))
            call_.sums.add(call_, rows, sums, from.values, weights, ones, from.next);
    }

    call_type const& call_;
    block_mask<blocking> mask_;
};

template <class T, class Arch>
void whole_rows<T, Arch>::run_heads(arena& memory, index_range head_groups, index_range rows) const {
    index_t const at_once = mask_.blocks_at_once(head_groups, rows);
    head_blocks from(call_, memory, at_once);
    scratch_type scratch(memory, call_, at_once);
    tile one(memory, call_);
    columns at(memory, mask_);
    online_state<T> sums{memory.template take<char>(blocking::states * call_.sums.state_bytes),
                         memory.template take<T>(blocking::rows * call_.value_width())};
    for (index_t g = head_groups.first; g < head_groups.last; ++g) {
        auto const heads = call_.head_group_at(g);
        from.begin(heads);
        for (index_t b = rows.first; b < rows.last; ++b)
            at.for_tiles(call_, heads, b, from, [&](index_t first, index_t count, search_back_off& back_off) {
                call_.prefetch_beside(heads, first, first + count, 0, blocking::rows);
                one.begin(call_, heads, first, count);
                call_.sums.begin(call_, sums);
                score(memory.panels, one, from, scratch, at, back_off);
                finish(one, sums, from, scratch, at);
            });
    }
}

}  // namespace fovea::FOVEA_SET::driver
