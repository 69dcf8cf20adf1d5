// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/score/rescore.hpp>

#include <cmath>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

/// decay: scores times gamma to the power of the distance, as in retention.
///
///     s' = s gamma^(q_idx - kv_idx)
///     dot | decay(gamma) | causal | unnormalized | weighted_sum
///
/// Shapes: `gamma` is a number, a table (head), kept as a view, or an expression of head; it must be above 0, and in a
/// table, where that is not checked, others make scores NaN.
/// Cost: an exponential for each pair.
/// Gradients: of the score and a table of gamma.
/// Edge cases: scores of keys after the query grow, so use it with a causal mask.
/// Errors: std::invalid_argument for a number not above 0; shape_error for a table with fewer heads than the call has.
/// Source: Sun et al. 2023 (RetNet), equation 5.
template <class Gamma>
auto decay(Gamma&& gamma) {
    using namespace placeholders;
    detail::require_finite_above_0("decay: gamma", gamma);
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<Gamma>>)
        return rescore(score * exp(std::log(static_cast<double>(gamma)) * (q_idx - kv_idx)));
    else
        return rescore(score
                       * exp(log(detail::computed_or_table(std::forward<Gamma>(gamma), head)) * (q_idx - kv_idx)));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed decay(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
