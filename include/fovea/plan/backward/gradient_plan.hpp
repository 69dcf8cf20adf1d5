// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a gradient is computed: by passes over tiles, or as it is defined.
#pragma once

#include <fovea/plan/traversal.hpp>

namespace fovea::FOVEA_SET::plan {

/// True where a gradient can have queries in lanes: one product, and keys of which nothing but numbers is read.
template <class Call>
inline constexpr bool gradient_takes_query_lanes =
    is_one_product<typename Call::parts>
    && !reads_a_row_of_query<std::remove_cvref_t<decltype(Call::spec::score.pointwise)>>
    && !reads_a_row_of_query<std::remove_const_t<decltype(Call::spec::predicate)>>
    && (!loaded_rows<std::remove_const_t<decltype(Call::operands::key)>>
        || !any_reads_features<decltype(Call::parts::keys)>);

/// Into how many tasks the rows of each key head are split: fewer heads than threads would leave some of these idle.
/// Each task has sums of all keys, which are joined in order, so that the number depends on sizes alone, and rows are
/// many beside it.
constexpr index_t query_splits(index_t key_heads, index_t queries) {
    constexpr index_t tasks = 8, least_queries = 512;
    return std::clamp<index_t>(queries / least_queries, 1, ceil_div(tasks, std::max<index_t>(key_heads, 1)));
}

/// True where a matrix unit computes the products of a gradient with queries in lanes: of queries, keys and values that
/// are bfloat16, and of the gradients of results in parts.
template <class Call, class ValueRows, class D>
inline constexpr bool gradient_uses_matrix_unit = [] {
    using keys = std::remove_const_t<decltype(Call::operands::key)>;
    if constexpr (gradient_takes_query_lanes<Call> && multiplies_rows<typename Call::parts> && !loaded_rows<keys>
                  && !loaded_rows<ValueRows> && sizeof(D) <= sizeof(float))
        return multiplies_in_matrix_unit<typename Call::number, typename Call::architecture, 0, bfloat16>
            && std::is_same_v<typename Call::query_element, bfloat16> && std::is_same_v<element_of_rows<keys>, bfloat16>
            && std::is_same_v<element_of_rows<ValueRows>, bfloat16>;
    else return false;
}();

/// The bfloat16 numbers that a weight, or the gradient of a score, is split into for it: as many as keep the precision
/// of the gradients that are asked for, of arrays with elements like those of operands.
template <class Operand, class... Asked>
inline constexpr int gradient_parts =
    std::max({1, std::is_same_v<typename Asked::element, Operand>
                     ? weight_parts<std::remove_pointer_t<decltype(Asked::target.data)>>
                     : 1 ...});

/// The blocking of a gradient with queries in lanes. Without a matrix unit arithmetic is that of numbers, whatever
/// is stored.
template <class Call, class ValueRows, class D, int Weight_parts>
using gradient_lanes = std::conditional_t<
    gradient_uses_matrix_unit<Call, ValueRows, D>,
    matrix_unit_gradient_blocking<typename Call::number, typename Call::architecture, typename Call::query_element,
                                  parts_of_operands<1, 1, 1, Weight_parts, 2, std::max(Weight_parts, 2)>>,
    query_lanes_blocking<typename Call::number, typename Call::architecture>>;

/// The plan of the scores of a gradient: queries in lanes where they fill them.
template <class Call>
call_plan make_gradient_plan(call_sizes const& n) {
    using lanes = typename Call::query_lanes;
    if constexpr (gradient_takes_query_lanes<Call>)
        if (lanes::suits(n.queries * n.group, n.features)) {
            call_plan plan{traversal::query_lanes, block_sizes_of<lanes>};
            plan.tile_heads =
                lanes::sharing(n.queries, n.group, n.keys,
                               uses<std::remove_cvref_t<decltype(Call::spec::score.pointwise)>, q_idx_t, head_t>);
            index_t const rows = n.queries * plan.tile_heads;
            plan.keys = reading_in_query_lanes<decltype(Call::operands::key), lanes>(rows, n.features, n.keys_per_run,
                                                                                     n.keys, n.key_alignment);
            plan.rows = lanes::width_for(std::min(rows, lanes::rows));
            plan.matrix_unit = lanes::packs_values;
            plan.sums = lanes::packs_values ? 0 : lanes::sums_for(plan.rows);
            return plan;
        }
    return make_key_lanes_plan<Call>(n);
}

/// The plan of its products dO V^T, which share tiles with the scores.
template <class Call, class Blocking>
call_plan make_value_plan(call_plan const& scores, call_sizes const& n) {
    if constexpr (Blocking::queries_in_lanes) {
        auto plan = scores;
        plan.keys = reading_in_query_lanes<decltype(Call::operands::key), Blocking>(
            n.queries * plan.tile_heads, n.features, n.keys_per_run, n.keys, n.key_alignment);
        return plan;
    } else {
        return make_key_lanes_plan<Call>(n);
    }
}

}  // namespace fovea::FOVEA_SET::plan
