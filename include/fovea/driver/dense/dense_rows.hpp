// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A dense call as the engine sees it, without its specification: its plan, its sizes, its tasks, and runs of adjacent
// keys.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/driver/call/prefetch.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/expr/bound.hpp>
#include <fovea/kernel/environment.hpp>
#include <fovea/plan/traversal.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Adjacent granules of a block of keys; a granule is the fewest keys that a mask leaves out.
template <class Tile>
struct granule_run {
    index_t first, last;
    constexpr index_t first_panel() const { return first / Tile::granules_per_panel; }
    constexpr index_t last_panel() const { return ceil_div(last, Tile::granules_per_panel); }
};

class back_off;  // driver/dense/block_mask.hpp

/// A run of granules of a block of keys; mixed[p] tells of panel p whether the mask has to be applied.
template <class Tile>
struct key_run {
    index_t block;
    granule_run<Tile> granules;
    bool const* mixed;
    back_off* cuts;  // searches for less than a panel
};

/// Calls f(first, granules, masked) for adjacent panels of a run that are masked, or not, alike.
template <class Tile, class F>
void for_spans(key_run<Tile> const& at, F const& f) {
    auto const run = at.granules;
    bool const* const mixed = at.mixed;
    for (index_t first = run.first; first < run.last;) {
        index_t panel = first / Tile::granules_per_panel;
        bool const masked = mixed[panel];
        while (panel < run.last_panel() && mixed[panel] == masked) ++panel;
        index_t const last = std::min(panel * Tile::granules_per_panel, run.last);
        f(first, last - first, masked);
        first = last;
    }
}

/// True where a panel of a run is mixed.
template <class Tile>
bool any_mixed(key_run<Tile> const& at) {
    for (index_t p = at.granules.first_panel(); p < at.granules.last_panel(); ++p)
        if (at.mixed[p]) return true;
    return false;
}

/// Counts the panels of a run.
template <class Tile>
void count_panels(panel_count& panels, key_run<Tile> const& at) {
    for (index_t p = at.granules.first_panel(); p < at.granules.last_panel(); ++p)
        ++(at.mixed[p] ? panels.mixed : panels.full);
}

/// How many tasks the blocks of rows of each head are divided into: one for a single worker.
constexpr index_t shares(index_t workers, index_t heads, index_t blocks) {
    index_t const wanted = workers == 1 ? 1 : 8 * workers;
    return std::clamp<index_t>(ceil_div(wanted, std::max<index_t>(heads, 1)), 1, std::max<index_t>(blocks, 1));
}

/// One head, or heads that share keys and whose queries are interleaved as rows: `index` counts those of a batch.
struct head_group {
    index_t batch, index;
};

/// Where a pass leaves what is unfinished, if it finishes everything.
struct no_partial_sums {
    static constexpr bool empty() { return true; }
    template <class Call>
    no_partial_sums tile(index_t, Call const&) const {
        return {};
    }
};

/// A dense call as the engine sees it, whatever it computes: its plan, its sizes, and what its mask says of a box of
/// pairs. Rows are the queries of one head, or the interleaved queries of `tile_heads` heads that share keys.
struct dense_rows {
    using coverage_function = truth (*)(dense_rows const&, box const& rows, interval<index_t> keys);

    plan::call_plan const& planned;
    stored_rows query, key, value, result;
    index_t batches, queries, keys, features, value_features;
    bool exact;                  // integers may need more bits than a lane has
    coverage_function coverage;  // none where all pairs are visible
    plan::summed_features summed;
    index_t tile_heads;         // query heads whose rows are interleaved
    index_t rows, head_groups;  // of a head group; of a batch
    index_t per_key_head;       // head groups that share keys
    index_t first_key = 0;      // its position, as a normalizer sees it

    template <class Operands>
    dense_rows(plan::call_plan const& plan, Operands const& operands, coverage_function of_mask)
        : planned(plan),
          query(rows_of(operands.query)),
          key(rows_of(operands.key)),
          value(values_of(operands)),
          result(results_of(operands)),
          batches(operands.batches()),
          queries(operands.queries()),
          keys(operands.keys()),
          features(operands.features()),
          value_features(value_features_of(operands)),
          exact(operands.exact),
          coverage(of_mask),
          summed{{0, operands.features()}, std::max(operands.features(), operands.key_features())},
          tile_heads(plan.tile_heads),
          rows(operands.queries() * tile_heads),
          head_groups(operands.query.extent(1) / tile_heads),
          per_key_head(operands.group() / tile_heads) {}

    /// A head group by its number in all batches.
    head_group head_group_at(index_t n) const { return {n / head_groups, n % head_groups}; }
    index_t key_head(head_group at) const { return per_key_head == 1 ? at.index : at.index / per_key_head; }

    /// The query and head of a row; without a division for a single head.
    row_place row(head_group at, index_t r) const {
        if (tile_heads == 1) return {at.batch, at.index, r};
        index_t const position = r / tile_heads;
        return {at.batch, at.index * tile_heads + r - position * tile_heads, position};
    }

    /// The coordinates of a row.
    kernel::row_coordinates coordinates(head_group at, index_t r) const {
        auto const place = row(at, r);
        return {at.batch, place.head, place.query, queries, keys, features, exact};
    }

    /// The box of the rows [first, last), for interval readings; all keys.
    FOVEA_CONTROL box span(head_group at, index_t first, index_t last) const {
        auto const from = row(at, first), to = row(at, last - 1);
        interval<index_t> const of_heads =
            from.query == to.query ? interval<index_t>{from.head, to.head}
                                   : interval<index_t>{at.index * tile_heads, at.index * tile_heads + tile_heads - 1};
        return {at.batch, of_heads, {from.query, to.query}, {0, keys - 1}, queries, keys, features};
    }

    /// Prefetches for a tile of `count` rows that begins `offset` rows after `first`: the results that it will write,
    /// and the queries of the tile that begins `offset` rows after `next`.
    FOVEA_INLINE void prefetch_beside(head_group at, index_t first, index_t next, index_t offset, index_t count) const {
        prefetch_rows<true>(result, tile_heads, {at.batch, at.index, first + offset}, rows, count);
        auto after = row_after({at.batch, at.index, next}, rows, head_groups);
        after.row += offset;
        if (after.batch < batches) prefetch_rows<false>(query, tile_heads, after, rows, count);
    }

private:
    // A call of scores alone has neither values nor a result.
    template <class Operands>
    static stored_rows values_of(Operands const& operands) {
        if constexpr (requires { operands.value; }) return rows_of(operands.value);
        else return {};
    }
    template <class Operands>
    static stored_rows results_of(Operands const& operands) {
        if constexpr (requires { operands.result; }) return rows_of(operands.result);
        else return {};
    }
    template <class Operands>
    static index_t value_features_of(Operands const& operands) {
        if constexpr (requires { operands.value; }) return operands.value_features();
        else return 0;
    }
};

/// Calls f(memory, head groups, blocks) for all blocks of rows of all head groups, shared out among the workers:
/// several head groups at a time where these have little to do. All rows of a head group go to one worker where an
/// output sums over queries.
template <class Blocking, class Executor, class F>
FOVEA_CONTROL void for_row_blocks(Executor const& executor, workspace& scratch, dense_rows const& call,
                                  bool outputs_reduce_over_queries, F const& f) {
    index_t const blocks = ceil_div(call.rows, Blocking::block_rows);
    index_t const head_groups = call.batches * call.head_groups, workers = executor.workers();
    index_t const row_shares = shares(outputs_reduce_over_queries ? 1 : workers, head_groups, blocks);
    index_t const head_shares = row_shares > 1 ? head_groups : std::min(head_groups, shares(workers, 1, head_groups));
    executor.run(head_shares * row_shares, [&](index_t task, index_t worker) {
        auto& memory = scratch.worker(worker);
        memory.clear();
        index_t const head_share = task % head_shares;
        index_t const row_share = row_shares - 1 - task / head_shares;  // under a causal mask the last are longest
        f(memory, index_range{head_share * head_groups / head_shares, (head_share + 1) * head_groups / head_shares},
          index_range{row_share * blocks / row_shares, (row_share + 1) * blocks / row_shares});
    });
}

}  // namespace fovea::FOVEA_SET::driver
