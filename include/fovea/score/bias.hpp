// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/broadcast.hpp>
#include <fovea/score/rescore.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// bias: a number added to the score of each pair, from a tensor.
///
///     s' = s + b[..., q_idx, kv_idx]
///
/// Axes are the last ones of (batch, head, query, key); an axis of extent 1 stands for all positions along it.
/// -inf hides a pair, as an additive mask does. Cost: one number read for each pair; prefer an expression where there
/// is one, and a mask for what is hidden. Keeps a view: the tensor must outlive the score. Errors: shape_error where
/// the tensor is smaller than the call.
template <class Tensor>
constexpr auto bias(Tensor&& table) {
    static_cast<void>(detail::has_features_of_numbers<typename decltype(detail::view_of(table))::value_type>());
    return rescore(placeholders::score + of_pair(std::forward<Tensor>(table)));
}

}  // namespace fovea::FOVEA_SET
