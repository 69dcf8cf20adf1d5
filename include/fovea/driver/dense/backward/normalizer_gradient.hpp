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
#include <fovea/driver/dense/table_extremes.hpp>

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
    using tile = score_tile<key_lanes_of<Call>>;
    using score = score_gradient<Call, key_lanes_of<Call>, Tables>;

public:
    using blocking = key_lanes_of<Call>;
    using partial_sums = partial_key_sums<T>;
    static constexpr bool prefetches_rows = false, keeps_scores = true;

    struct call_type : gradient_call<Call, Backward, blocking, Tables> {
        Normalize const& normalize;
        Reweight const& reweight;
        Aggregate const& aggregate;
        template <class Spec>
        call_type(plan::call_plan const& plan, typename Call::spec const& of, Spec const& all,
                  typename Call::operands const& on, Backward const& others, Tables const& sums)
            : gradient_call<Call, Backward, blocking, Tables>(plan, of, on, others, sums),
              normalize(all.normalize),
              reweight(all.reweight),
              aggregate(all.aggregate) {}
    };
    using head_blocks = gradient_blocks<call_type, blocking>;

    /// Scores become P and dO V^T becomes dS, row by row.
    struct scratch {
        typename tile::scratch scores, products;
        row_backward<T, Arch, Normalize, Reweight, Tables> rule;
        added_gradient<T, Arch, Aggregate> added;

        scratch(arena& memory, call_type const& call, index_t blocks)
            : scores(memory, call, blocks),
              products(memory, call.values, blocks),
              rule(memory, call.normalize, call.reweight, scores.stride),
              added(memory, call.aggregate, call.backward.d_result.extent(3)) {
            if constexpr (score::keeps_first) scores.kept = memory.template take<T>(scores.plane_stride());
        }
    };

    normalizer_gradient(arena& memory, call_type const& call, no_partial_sums)
        : tile_(memory, call), products_(memory, call.values), rows_(memory, call), columns_(memory, call) {}

    void begin(call_type const& call, head_group heads, index_t first, index_t count) {
        tile_.begin(call, heads, first, count);
        products_.begin(call.values, heads, first, count);
        rows_.begin(call, tile_.rows());
        columns_.begin();
    }
    box span(dense_rows const& call) const { return tile_.span(call); }
    bool whole_panels() const { return tile_.whole_panels(); }

    /// S and dO V^T.
    void take(call_type const& call, block_mask<blocking> const& mask, head_blocks& from, key_run<blocking> const& at,
              scratch& buffers) {
        columns_.take(tile_, from, at, buffers.scores, [&](index_t column) {
            products_.score(call.values, mask, from.values, at, buffers.products, false, from.next, column);
            return tile_.score(call, mask, from.keys, at, buffers.scores, false, from.next, column);
        });
    }

    /// P and dS, and the sums.
    void finish(call_type const& call, head_blocks& from, scratch& buffers) {
        auto const p = columns_.part(buffers.scores, columns_.from, columns_.to),
                   ds = columns_.part(buffers.products, columns_.from, columns_.to);
        index_t const keys = std::min(p.count, call.keys - p.first);  // the last panel may hold fewer
        auto const pairs = [&](score_block<blocking> const& of) {
            return tile_of_pairs<T>{
                tile_.rows().coordinates.data(), tile_.rows().count, of.first, keys, of.scores, of.stride};
        };
        if (p.count > 0) buffers.added.begin(pairs(ds), call.backward.d_result);
        for (index_t r = 0; r < tile_.rows().count && p.count > 0; ++r) {
            auto const coordinates = tile_.rows().facts_of(call, r);
            T *const weights = p.scores + r * p.stride, *const products = ds.scores + r * ds.stride;
            buffers.rule.apply(
                coordinates, {weights, p.packs(), {p.first}}, products, rows_.tables(),
                [&](T const* w, T* d) { buffers.added.add_to_gradients(coordinates, p.first, keys, w, d); });
        }
        if (p.count > 0) buffers.added.add_to_tables(pairs(p), rows_.tables());
        columns_.for_blocks(from, [&](index_t k, index_t first, index_t last) {
            rows_.add(call, from, k, columns_.part(buffers.scores, first, last),
                      columns_.part(buffers.products, first, last),
                      score::keeps_first ? buffers.scores.kept + first : nullptr);
        });
        rows_.finish(call);
    }

private:
    tile tile_, products_;
    gradient_rows<call_type, blocking> rows_;
    row_columns<blocking> columns_;
};

/// The gradients of queries, keys and values of normalize(score) V, and of tables.
template <class T, class Arch, class Spec, class Q, class K, class Backward, class Executor, class Tables>
void run_normalizer_gradient(Executor const& executor, workspace& scratch, Spec const& spec,
                             score_operands<Q, K> const& operands, Backward const& backward, Tables const& tables) {
    plan::lowered_score const of_scores{spec.score, spec.predicate};
    using scores = plan::score_types<T, Arch, std::remove_const_t<decltype(of_scores)>, score_operands<Q, K>>;
    using normalize = std::remove_cvref_t<decltype(spec.normalize)>;
    using reweight = std::remove_cvref_t<decltype(spec.reweight)>;
    using aggregate = std::remove_cvref_t<decltype(spec.aggregate)>;
    using pass = normalizer_gradient<scores, Backward, normalize, reweight, aggregate, Tables>;
    auto const plan = plan::make_key_lanes_plan<scores>(operands.sizes());
    known_extremes<std::remove_const_t<decltype(spec.predicate)>> const known(executor, scratch.shared(),
                                                                              spec.predicate, operands.queries());
    typename pass::call_type call(plan, of_scores, spec, operands, backward, tables);
    call.known = &known;
    run_gradient_loop<pass>(call, in_tile_configurations_of<scores>(executor), scratch);
}

}  // namespace fovea::FOVEA_SET::driver
