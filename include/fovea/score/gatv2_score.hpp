// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/score/compare.hpp>

namespace fovea::FOVEA_SET {

/// gatv2_score: the score of graph attention with the activation applied to the sum of query and key.
///
///     s_ij = sum_c a_hc leaky_relu(q_ic + k_jc, slope)
///
/// Shapes: `a` is (head, feature), kept as a view.
/// Cost: one activation for each feature, head and edge.
/// Gradients: of query, key and `a`.
/// Edge cases: unlike with gat_score, the best key may depend on the query.
/// Errors: shape_error where the table has fewer heads, or another number of features.
/// Source: Brody, Alon and Yahav 2022, equation 7.
template <class Weights, class Slope = float>
constexpr auto gatv2_score(Weights&& a, Slope slope = 0.2f) {
    using namespace placeholders;
    return compare(sum(detail::table_param<2>(std::forward<Weights>(a))[head] * leaky_relu(q + k, slope)));
}
template <class... Others>
    requires(sizeof...(Others) != 1 && sizeof...(Others) != 2)
constexpr ill_formed gatv2_score(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
