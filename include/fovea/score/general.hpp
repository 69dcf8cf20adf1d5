// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/project/project.hpp>
#include <fovea/score/dot.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// general: query and key compared through a matrix (bilinear attention).
///
///     s_ij = q_i^T W k_j
///     general(W) | softmax | weighted_sum
///
/// W is (features of the query, features of the key). It is folded into the query once: q' = W^T q.
/// Cost: one matrix product over the queries, then as dot. Keys and values are taken as they are.
/// Errors: shape_error where W does not fit query and key. Source: Luong, Pham and Manning 2015, equation 8, general.
template <class Matrix>
constexpr auto general(Matrix&& matrix) {
    return project(std::forward<Matrix>(matrix), as_is, as_is) | dot;
}

}  // namespace fovea::FOVEA_SET
