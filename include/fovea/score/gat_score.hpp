// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/score/compare.hpp>

namespace fovea::FOVEA_SET {

/// gat_score: the score of graph attention, from one number for each node and role.
///
///     s_ij = leaky_relu(sum_c target_hc q_ic + sum_c source_hc k_jc, slope)
///
/// Shapes: `target` and `source` are (head, feature), kept as views; q is the node that looks, k the neighbour looked
/// at.
/// Cost: the two sums are computed once for each node and head; one addition for each edge.
/// Gradients: of query, key, `target` and `source`.
/// Edge cases: without a graph every node looks at every node.
/// Errors: shape_error where a table has fewer heads, or another number of features.
/// Source: Velickovic et al. 2018, equation 3, with a = [target || source].
template <class Target, class Source, class Slope = float>
constexpr auto gat_score(Target&& target, Source&& source, Slope slope = 0.2f) {
    using namespace placeholders;
    return compare(leaky_relu(sum(detail::table_param<2>(std::forward<Target>(target))[head] * q)
                                  + sum(detail::table_param<2>(std::forward<Source>(source))[head] * k),
                              slope));
}
template <class... Others>
    requires(sizeof...(Others) != 2 && sizeof...(Others) != 3)
constexpr ill_formed gat_score(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
