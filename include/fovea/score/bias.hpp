// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/param.hpp>
#include <fovea/score/rescore.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// bias: a number added to the score of each pair, from a tensor.
///
///     s' = s + b[..., q_idx, kv_idx]
///
/// Shapes: the last axes of (batch, head, query, key); an axis of extent 1 is broadcast. The tensor is kept as a view.
/// Cost: one number read for each pair, and tiles that are all -inf are skipped; prefer an expression if there is one.
/// Gradients: of the score and the tensor.
/// Edge cases: -inf excludes a pair, as in an additive mask: its product may be anything, also NaN.
/// Errors: shape_error where the tensor is smaller than the call.
template <class Tensor>
constexpr auto bias(Tensor&& table) {
    if constexpr (detail::has_features_of_numbers<typename decltype(detail::view_of(table))::value_type>())
        return rescore(placeholders::score + of_pair(std::forward<Tensor>(table)));
    else return ill_formed{};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed bias(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
