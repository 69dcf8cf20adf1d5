// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient pass of any normalizer: of whole rows, by the rule that it has.
#pragma once

#include <fovea/driver/call/added_values.hpp>
#include <fovea/driver/call/backward/row_backward.hpp>
#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/backward/gradient_call.hpp>
#include <fovea/driver/dense/backward/gradient_rows.hpp>
#include <fovea/driver/dense/backward/split_query_sums.hpp>
#include <fovea/driver/dense/row_columns.hpp>
#include <fovea/driver/dense/score_tile.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The gradient pass of N(S) V, of a normalizer N and a reweighting after it: the scores of a tile of rows are kept,
/// from the first key that any of them sees to the last, and dO V^T beside them. Row by row they become P and dS, and
/// these go back block by block.
///
/// Memory: for a worker, these rows of a tile, and what gradient_blocks has.
template <class Call, class Backward, class Normalize, class Reweight, class Aggregate, class Tables>
class normalizer_gradient {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using blocking = key_lanes_of<Call>;
    using tile_type = score_tile<blocking>;
    using score = score_gradient<Call, blocking, Tables>;
    using rule_type = row_backward<T, Arch, Normalize, Reweight, Tables>;

public:
    using call_type = gradient_call<Call, Backward, blocking, Tables>;

    normalizer_gradient(call_type const& call, Normalize const& normalize, Reweight const& reweight,
                        Aggregate const& aggregate)
        : call_(call), mask_(call), normalize_(normalize), reweight_(reweight), aggregate_(aggregate) {}

    template <class Executor>
    void run(Executor const& executor, workspace& scratch) const {
        for_key_heads<head_blocks>(call_, executor, scratch,
                                   [&](arena& memory, index_range head_groups, index_range row_blocks, T* sums) {
                                       run_heads(memory, head_groups, row_blocks, sums);
                                   });
    }

private:
    using head_blocks = gradient_blocks<call_type, blocking>;
    using scratch_type = typename tile_type::scratch;

    /// The tile at hand.
    struct tile {
        scratch_type scores, products;  // S, which becomes P, and dO V^T, which becomes dS
        tile_type of_scores, of_products;
        gradient_rows<call_type, blocking> rows;
        rule_type rule;
        added_gradient<T, Arch, Aggregate> added;

        tile(arena& memory, call_type const& call, index_t blocks, Normalize const& normalize, Reweight const& reweight,
             Aggregate const& aggregate)
            : scores(memory, call, blocks),
              products(memory, call.values, blocks),
              of_scores(memory, call),
              of_products(memory, call.values),
              rows(memory, call),
              rule(memory, normalize, reweight, scores.stride),
              added(memory, aggregate, call.backward.d_result.extent(3)) {
            if constexpr (score::keeps_first) scores.kept = memory.template take<T>(scores.plane_stride());
        }
        void begin(call_type const& call, head_group heads, index_t first, index_t count) {
            of_scores.begin(call, heads, first, count);
            of_products.begin(call.values, heads, first, count);
            rows.begin(call, of_scores.rows());
        }
    };

    void run_heads(arena& memory, index_range head_groups, index_range row_blocks, T* sums) const {
        index_t const at_once = mask_.blocks_at_once(head_groups, row_blocks);
        head_blocks from(call_, memory, at_once, sums);
        tile one(memory, call_, at_once, normalize_, reweight_, aggregate_);
        row_columns<blocking> columns(memory, mask_);
        for (index_t g = head_groups.first; g < head_groups.last; ++g) {
            auto const heads = call_.head_group_at(g);
            from.begin(heads);
            for (index_t b = row_blocks.first; b < row_blocks.last; ++b)
                columns.for_tiles(call_, heads, b, from, [&](index_t first, index_t count, search_back_off& back_off) {
                    one.begin(call_, heads, first, count);
                    run_tile(memory.panels, one, from, columns, back_off);
                });
            from.finish();
        }
    }

    void run_tile(panel_count& counts, tile& one, head_blocks& from, row_columns<blocking>& columns,
                  search_back_off& back_off) const {
        columns.for_runs(one.of_scores, from, one.scores, back_off, [&](key_run<blocking> const& run, index_t column) {
            count_panels(counts, run);
            one.of_products.score(call_.values, mask_, from.values, run, one.products, false, from.next, column);
            return one.of_scores.score(call_, mask_, from.keys, run, one.scores, false, from.next, column);
        });
        auto const p = columns.part(one.scores, columns.from, columns.to),
                   ds = columns.part(one.products, columns.from, columns.to);
        index_t const keys = std::min(p.count, call_.keys - p.first);  // the last panel may hold fewer
        for (index_t r = 0; r < one.of_scores.rows().count && p.count > 0; ++r) {
            auto const coordinates = one.of_scores.rows().facts_of(call_, r);
            T *const weights = p.scores + r * p.stride, *const products = ds.scores + r * ds.stride;
            one.added.begin(coordinates, call_.backward.d_result);
            one.rule.apply(coordinates, {weights, p.packs(), {p.first}}, products, one.rows.tables(),
                           [&](T const* w, T* d) { one.added.add_to_gradients(coordinates, p.first, keys, w, d); });
            one.added.add_to_tables(coordinates, p.first, keys, weights, one.rows.tables());
        }
        columns.for_blocks(from, [&](index_t k, index_t first, index_t last) {
            one.rows.add(call_, from, k, columns.part(one.scores, first, last), columns.part(one.products, first, last),
                         score::keeps_first ? one.scores.kept + first : nullptr);
        });
        one.rows.finish(call_);
    }

    call_type const& call_;
    block_mask<blocking> mask_;
    Normalize const& normalize_;
    Reweight const& reweight_;
    Aggregate const& aggregate_;
};

/// The gradients of queries, keys and values of normalize(score) V, and of tables.
template <class T, class Arch, class Spec, class Q, class K, class Backward, class Executor, class Tables>
void run_normalizer_gradient(Executor const& executor, workspace& scratch, Spec const& spec,
                             score_operands<Q, K> const& operands, Backward const& backward, Tables const& tables) {
    plan::lowered_score const of_scores{spec.score, spec.predicate};
    using scores = plan::score_call<T, Arch, std::remove_const_t<decltype(of_scores)>, score_operands<Q, K>>;
    using normalize = std::remove_cvref_t<decltype(spec.normalize)>;
    using reweight = std::remove_cvref_t<decltype(spec.reweight)>;
    using aggregate = std::remove_cvref_t<decltype(spec.aggregate)>;
    using pass = normalizer_gradient<scores, Backward, normalize, reweight, aggregate, Tables>;
    auto const plan = plan::make_key_lanes_plan<scores>(operands.sizes());
    typename pass::call_type const call(plan, of_scores, operands, backward, tables);
    pass(call, spec.normalize, spec.reweight, spec.aggregate).run(in_tile_configurations_of<scores>(executor), scratch);
}

}  // namespace fovea::FOVEA_SET::driver
