// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/dense/pack_run.hpp>
#include <fovea/driver/operands.hpp>
#include <fovea/driver/workspace.hpp>
#include <fovea/expr/bound.hpp>
#include <fovea/plan/index_terms.hpp>
#include <fovea/plan/traversal.hpp>

namespace fovea::FOVEA_SET::driver {

/// Blocks of rows, or of keys.
struct block_range {
    index_t first, last;
    index_t size() const { return last - first; }
};

/// One head, or heads that share keys and whose queries take turns as rows.
struct head_group {
    index_t batch, head;
};

/// A dense call and its plan. Rows are the queries of one head, or of `group` heads that share keys and take turns.
template <class Call>
struct dense_context {
    typename Call::recipe const& recipe;
    typename Call::operands const& operands;
    plan::call_plan const& how;
    index_t group = how.tile_heads;
    index_t rows = operands.queries() * group;         // of a head group
    index_t heads = operands.query.extent(1) / group;  // head groups of a batch
    index_t per_key_head = operands.group() / group;   // head groups

    using indices_type = decltype(plan::take_index_terms(recipe.score.pointwise, recipe.predicate));
    indices_type indices = plan::take_index_terms(recipe.score.pointwise, recipe.predicate);

    index_t key_head(head_group at) const { return per_key_head == 1 ? at.head : at.head / per_key_head; }

    /// The query and head of a row; without a division for a single head.
    row_place row(head_group at, index_t r) const {
        if (group == 1) return {at.batch, at.head, r};
        index_t const query = r / group;
        return {at.batch, at.head * group + r - query * group, query};
    }

    /// What is known of a row.
    kernel::row_facts facts(head_group at, index_t r) const {
        auto const place = row(at, r);
        return {at.batch,        place.head,          place.query,   operands.queries(),
                operands.keys(), operands.features(), operands.exact};
    }

    /// What the rows [first, last) span, for interval readings; all keys.
    box span(head_group at, index_t first, index_t last) const {
        auto const from = row(at, first), to = row(at, last - 1);
        interval<index_t> const of_heads = from.query == to.query
                                             ? interval<index_t>{from.head, to.head}
                                             : interval<index_t>{at.head * group, at.head * group + group - 1};
        return {at.batch,           of_heads,        {from.query, to.query}, {0, operands.keys() - 1},
                operands.queries(), operands.keys(), operands.features()};
    }

    /// What a normalizer is for one row.
    decltype(auto) normalizer(kernel::row_facts const& row) const {
        return normalizer_of_row(recipe.normalize,
                                 facts_of_row<typename Call::number, typename Call::architecture>{row});
    }
};

/// Calls f(memory, head, blocks) for all blocks of rows of all heads, shared out among the workers.
template <class Shape, class Call, class Executor, class F>
void for_row_blocks(Executor const& executor, workspace& scratch, dense_context<Call> const& call, F const& f) {
    index_t const blocks = (call.rows + Shape::block_rows - 1) / Shape::block_rows;
    index_t const heads = call.operands.batches() * call.heads;
    index_t const parts = shares(Call::operands::adds_up ? 1 : executor.workers(), heads, blocks);
    executor.run(heads * parts, [&](index_t task, index_t worker) {
        auto& memory = scratch.worker(worker);
        memory.clear();
        index_t const head = task % heads, part = parts - 1 - task / heads;  // under a causal mask the last are longest
        f(memory, head_group{head / call.heads, head % call.heads},
          block_range{part * blocks / parts, (part + 1) * blocks / parts});
    });
}

}  // namespace fovea::FOVEA_SET::driver
