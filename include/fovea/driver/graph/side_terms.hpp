// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Terms of the query or the key alone, computed once before the loop over edges.
#pragma once

#include <fovea/driver/call/operands.hpp>
#include <fovea/driver/graph/batch_rows.hpp>
#include <fovea/driver/graph/listed_rows.hpp>
#include <fovea/kernel/head_sums.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

inline constexpr index_t positions_of_task = 1024;  // queries, or keys; a multiple of any width

/// The indices of one query of one head, and the sizes of its call.
template <class Operands>
kernel::row_facts facts_of(Operands const& operands, index_t batch, index_t head, index_t q) {
    return {batch, head, q, operands.queries(), operands.keys(), operands.features(), operands.exact};
}

/// From the values of one term to those of the next; whole vectors, so that tasks do not write into each other's.
template <class T, class Arch>
index_t term_stride(kernel::head_lanes const& lanes, index_t positions) {
    return round_up(lanes.pairs(positions), kernel::pack<T, Arch>::lanes);
}

/// Computes the terms of one side for all positions and heads: (batch, term, position, head lanes).
template <kernel::side Side, class T, class Arch, class Executor, class Operands, class Terms>
void compute_side_terms(Executor const& executor, Operands const& operands, kernel::head_lanes const& lanes,
                        Terms const& terms, T* to) {
    constexpr index_t width = kernel::pack<T, Arch>::lanes;
    if constexpr (plan::count_of<Terms> > 0) {
        constexpr bool of_key = Side == kernel::side::key;
        auto const& operand = [&]() -> auto const& {
            if constexpr (of_key) return operands.key;
            else return operands.query;
        }();
        index_t const n = operand.extent(2), features = operand.extent(3), group = of_key ? operands.group() : 1;
        key_head_of const key_head(group);
        bool joined =
            group == 1 && !operands.exact && kernel::fills_vectors<T, Arch>(features, head_stride(operand), lanes);
        plan::for_each_part(
            terms, [&](auto const& t) { joined = joined && kernel::joins_heads(t.expression, lanes.heads, features); });
        index_t const tasks = ceil_div(n, positions_of_task);
        executor.run(operands.batches() * tasks, [&](index_t task, index_t) {
            index_t const batch = task / tasks, first = task % tasks * positions_of_task,
                          last = std::min(first + positions_of_task, n);
            batch_rows<std::remove_cvref_t<decltype(operand)>> const features_of(operand, batch);
            for (index_t pair = lanes.pairs(first); pair < lanes.pairs(last); pair += width) {
                auto const row = facts_of(operands, batch, 0, 0);
                auto const pairs = [row, key_head, features_of](index_t position, index_t head) FOVEA_LAMBDA {
                    auto const* place = features_of(key_head(head), position);
                    auto here = row;
                    here.head = head;
                    if constexpr (!of_key) here.q_idx = position;
                    using element = std::remove_cvref_t<decltype(*place)>;
                    return kernel::pair_rows<element, element>{here, position, 0, place, place};
                };
                auto const sums = [&](auto const& body, auto const& over) FOVEA_LAMBDA {
                    return kernel::head_sums_over<T, Arch>(over, body, lanes, pair, n, pairs, {features, features},
                                                           joined);
                };
                kernel::side_environment<Side, T, Arch, decltype(sums)> const here{{row}, lanes, pair, sums};
                T* place = to + batch * plan::count_of<Terms> * term_stride<T, Arch>(lanes, n) + pair;
                plan::for_each_part(terms, [&](auto const& t) {
                    kernel::value_in_lanes<T, Arch>(t.expression, here).store(place);
                    place += term_stride<T, Arch>(lanes, n);
                });
            }
        });
    }
}

}  // namespace fovea::FOVEA_SET::driver
