// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/param.hpp>
#include <fovea/mask/where.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// mask_tensor: a condition for each pair, as a tensor of bool, of integers or of packed_bits; 0 excludes the pair.
///
///     visible[..., q_idx, kv_idx] != 0
///
/// Shapes: the last axes of (batch, head, query, key); an axis of extent 1 is broadcast. The tensor is kept as a view.
/// Cost: empty tiles are never visited; the rest is read pair by pair. Prefer an expression if there is one: a tensor
/// has an element for each score, if only a bit.
/// Edge cases: a query whose row is all 0 gets zeros.
/// Errors: shape_error where the tensor is smaller than the call.
template <class Tensor>
constexpr auto mask_tensor(Tensor&& visible) {
    return where(detail::holds(of_pair(std::forward<Tensor>(visible))));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed mask_tensor(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
