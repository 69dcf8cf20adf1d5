// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/dense/pack_run.hpp>
#include <fovea/driver/prefetch.hpp>
#include <fovea/driver/workspace.hpp>
#include <fovea/expr/bound.hpp>
#include <fovea/kernel/environment.hpp>
#include <fovea/plan/traversal.hpp>

namespace fovea::FOVEA_SET::driver {

/// Some neighbours: blocks of rows, blocks of keys, head groups.
struct block_range {
    index_t first, last;
    index_t size() const { return last - first; }
};

/// One head, or heads that share keys and whose queries are interleaved as rows.
struct head_group {
    index_t batch, head;
};

/// A dense call as the engine sees it, whatever it computes: its plan, its sizes, and what its mask says of a box of
/// pairs. Rows are the queries of one head, or the interleaved queries of `group` heads that share keys.
struct dense_rows {
    using coverage_function = truth (*)(dense_rows const&, box const&);

    plan::call_plan const& how;
    stored_rows query, key, value, result;
    index_t batches, queries, keys, features, value_features;
    bool exact;                  // integers may need more bits than a lane has
    coverage_function coverage;  // none where all pairs are visible
    index_t group;               // query heads whose rows are interleaved
    index_t rows, heads;         // of a head group; head groups of a batch
    index_t per_key_head;        // head groups that share keys

    template <class Operands>
    dense_rows(plan::call_plan const& plan, Operands const& operands, coverage_function of_mask)
        : how(plan),
          query(rows_of(operands.query)),
          key(rows_of(operands.key)),
          value(rows_of(operands.value)),
          result(rows_of(operands.result)),
          batches(operands.batches()),
          queries(operands.queries()),
          keys(operands.keys()),
          features(operands.features()),
          value_features(operands.value_features()),
          exact(operands.exact),
          coverage(of_mask),
          group(plan.tile_heads),
          rows(operands.queries() * group),
          heads(operands.query.extent(1) / group),
          per_key_head(operands.group() / group) {}

    /// A head group by its number in all batches.
    head_group head(index_t number) const { return {number / heads, number % heads}; }
    index_t key_head(head_group at) const { return per_key_head == 1 ? at.head : at.head / per_key_head; }

    /// The query and head of a row; without a division for a single head.
    row_place row(head_group at, index_t r) const {
        if (group == 1) return {at.batch, at.head, r};
        index_t const position = r / group;
        return {at.batch, at.head * group + r - position * group, position};
    }

    /// What is known of a row.
    kernel::row_facts facts(head_group at, index_t r) const {
        auto const place = row(at, r);
        return {at.batch, place.head, place.query, queries, keys, features, exact};
    }

    /// What the rows [first, last) span, for interval readings; all keys.
    box span(head_group at, index_t first, index_t last) const {
        auto const from = row(at, first), to = row(at, last - 1);
        interval<index_t> const of_heads = from.query == to.query
                                             ? interval<index_t>{from.head, to.head}
                                             : interval<index_t>{at.head * group, at.head * group + group - 1};
        return {at.batch, of_heads, {from.query, to.query}, {0, keys - 1}, queries, keys, features};
    }

    /// While `count` rows are worked on, `offset` after `first`: prefetches the results that they will write, and the
    /// queries of as many rows, `offset` after `next`.
    FOVEA_INLINE void prefetch_beside(head_group at, index_t first, index_t next, index_t offset, index_t count) const {
        prefetch_rows<true>(result, group, {at.batch, at.head, first + offset}, rows, count);
        auto after = row_after({at.batch, at.head, next}, rows, heads);
        after.query += offset;
        if (after.batch < batches) prefetch_rows<false>(query, group, after, rows, count);
    }
};

/// Calls f(memory, heads, blocks) for all blocks of rows of all head groups, shared out among the workers: several head
/// groups at a time where these have little to do. All rows of a head go to one worker where what they leave adds up.
template <class Shape, class Executor, class F>
void for_row_blocks(Executor const& executor, workspace& scratch, dense_rows const& call, bool adds_up, F const& f) {
    index_t const blocks = (call.rows + Shape::block_rows - 1) / Shape::block_rows;
    index_t const heads = call.batches * call.heads, workers = executor.workers();
    index_t const parts = shares(adds_up ? 1 : workers, heads, blocks);
    index_t const groups = parts > 1 ? heads : std::min(heads, shares(workers, 1, heads));
    executor.run(groups * parts, [&](index_t task, index_t worker) {
        auto& memory = scratch.worker(worker);
        memory.clear();
        index_t const group = task % groups;
        index_t const part = parts - 1 - task / groups;  // under a causal mask the last are longest
        f(memory, block_range{group * heads / groups, (group + 1) * heads / groups},
          block_range{part * blocks / parts, (part + 1) * blocks / parts});
    });
}

}  // namespace fovea::FOVEA_SET::driver
