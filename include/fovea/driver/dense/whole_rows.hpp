// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop that keeps all scores of a tile: for normalizers of whole rows, and where weights are asked for.
#pragma once

#include <fovea/driver/dense/key_lanes_sums.hpp>

#include <algorithm>
#include <new>

namespace fovea::FOVEA_SET::driver {

/// The dense traversal where weights are asked for, or a normalizer needs whole rows: the scores of a tile of rows are
/// kept, from the first key that any of them sees to the last.
template <class T, class Arch>
class whole_rows {
    using tile = key_lanes_tile<T, Arch>;
    using sums_type = key_lanes_sums<T, Arch>;
    using call = typename sums_type::call;
    using shape = typename tile::shape;
    using key_blocks = typename sums_type::key_blocks;
    using scratch_type = typename tile::scratch;

    /// A tile of queries with what is carried for it.
    struct rows_and_sums {
        tile rows;
        sums_type sums;
    };

public:
    explicit whole_rows(call const& context) : call_(context), mask_(context) {}

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

    void run_heads(arena& memory, index_range head_groups, index_range rows) const;

    /// S, for all keys that a row of the tile sees; pairs between runs are excluded.
    columns score(panel_count& counts, tile& rows, key_blocks& keys, scratch_type& scratch, index_range seen) const {
        columns at{keys.first(seen.first), 0, 0};
        auto const extend = [&](index_t from, index_t to) {
            if (at.to == 0) at.from = from;
            for (index_t r = 0; r < rows.rows().count && at.to > 0 && at.to < from; ++r)
                std::fill(scratch.scores + r * scratch.stride + at.to, scratch.scores + r * scratch.stride + from,
                          excluded<T>);
            at.to = to;
        };
        for (index_t k = seen.first; k < seen.last; ++k) {
            auto const runs = mask_.runs(rows, keys.first(k), keys.last(k), truth{});
            for (auto const granules : runs) {
                key_run<shape> const run{k, granules, runs.mixed};
                count_panels(counts, run);
                keys.prepare(k);
                index_t const column = keys.first(k) - at.first_key;
                extend(column + granules.first * shape::lanes, column + granules.last * shape::lanes);
                call_.functions.score(call_, rows.rows(), keys.keys, run, scratch.from(column), keys.next);
            }
        }
        return at;
    }

    /// P of whole rows, the outputs that read rows, and P V.
    void finish(rows_and_sums& all, key_blocks& keys, scratch_type& scratch, columns const& at) const {
        auto const& functions = call_.sums;
        auto const& rows = all.rows.rows();
        bool nonfinite = !functions.is_linear;
        for (index_t k = at.first_block(); k < at.last_block() && !functions.selects; ++k)
            nonfinite = nonfinite || !keys.finite(k);
        if (nonfinite || functions.clears_excluded) all.rows.mark_visible(scratch, at.from, at.to);
        functions.normalize(
            call_, rows, all.sums.sums(),
            {scratch.scores + at.from, scratch.stride, (at.to - at.from) / shape::lanes, at.first_key + at.from},
            scratch.visible + at.from);
        for (index_t k = at.first_block(); k < at.last_block() && !functions.selects; ++k)
            if (!mask_.coverage(all.rows.span(call_), keys.first(k), keys.last(k)).never())
                add_values(all, keys, k, scratch, at, nonfinite);
        functions.finish(call_, rows, all.sums.sums());
    }

    /// O += P V for one block of keys.
    void add_values(rows_and_sums const& all, key_blocks& keys, index_t k, scratch_type& scratch, columns const& at,
                    bool nonfinite) const {
        keys.prepare(k);
        auto const& rows = all.rows.rows();
        T* const sums = all.sums.sums().sums;
        index_t const first = std::max(keys.first(k), at.first_key + at.from),
                      last = std::min(keys.last(k), at.first_key + at.to), column = first - at.first_key;
        weight_tile<T> const weights{.first = scratch.scores + column,
                                     .stride = scratch.stride,
                                     .rows = rows.count,
                                     .mr = rows.mr,
                                     .block = k,
                                     .key = first - keys.first(k),
                                     .count = last - first,
                                     .visible = scratch.visible + column};
        T ones[shape::rows];
        std::fill_n(ones, shape::rows, T{1});
        if (nonfinite) call_.sums.add_visible(call_, sums, keys.values, weights, ones);
        else if (!call_.sums.add_nonzero(call_, sums, keys.values, weights))
            call_.sums.add(call_, sums, keys.values, weights, ones, keys.next);
    }

    call const& call_;
    block_mask<shape> mask_;
};

template <class T, class Arch>
void whole_rows<T, Arch>::run_heads(arena& memory, index_range head_groups, index_range rows) const {
    index_t const at_once = mask_.blocks_at_once(head_groups, rows);
    key_blocks keys(call_, memory, at_once);
    scratch_type scratch(memory, call_, at_once);
    auto& one = *new (memory.template take<rows_and_sums>(1)) rows_and_sums{{memory, call_}, {memory, call_, {}}};
    for (index_t g = head_groups.first; g < head_groups.last; ++g) {
        auto const heads = call_.head_group_at(g);
        keys.begin(heads);
        for (index_t b = rows.first; b < rows.last; ++b) {
            index_t const first = b * shape::block_rows, last = std::min(first + shape::block_rows, call_.rows);
            auto const seen = mask_.seen_by(call_.span(heads, first, last));
            for (index_t r = first; r < last; r += shape::rows) {
                index_t const next = std::min(r + shape::rows, last);
                call_.prefetch_beside(heads, r, next, 0, shape::rows);
                one.rows.begin(call_, heads, r, next - r);
                one.sums.begin(call_, one.rows);
                finish(one, keys, scratch, score(memory.panels, one.rows, keys, scratch, seen));
            }
        }
    }
}

}  // namespace fovea::FOVEA_SET::driver
