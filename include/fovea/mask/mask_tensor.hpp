// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/broadcast.hpp>
#include <fovea/mask/where.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// mask_tensor: a condition for each pair, as a tensor of bool or of integers, of which 0 hides.
///
///     visible[..., q_idx, kv_idx] != 0
///
/// Axes are the last ones of (batch, head, query, key); an axis of extent 1 stands for all positions along it.
/// Prefer an expression where there is one: a tensor is as large as the score matrix and read pair by pair.
/// Cost: tiles that the tensor empties are never visited. Keeps a view: the tensor must outlive the mask.
/// Errors: shape_error where the tensor is smaller than the call.
template <class Tensor>
constexpr auto mask_tensor(Tensor&& visible) {
    auto const element = of_pair(std::forward<Tensor>(visible));
    if constexpr (is_condition<std::remove_const_t<decltype(element)>>) return where(element);
    else return where(element != 0);
}

}  // namespace fovea::FOVEA_SET
