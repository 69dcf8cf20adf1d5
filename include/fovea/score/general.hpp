// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/project/project.hpp>
#include <fovea/score/dot.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// general: query and key compared through a matrix (bilinear attention).
///
///     s_ij = q_i^T W k_j
///
/// Shapes: W is (features of the query, features of the key), kept as a view; there is one head.
/// Cost: one matrix product over the queries, which folds W into them once, then as `dot`.
/// Gradients: of query, key and W.
/// Edge cases: keys and values are used unchanged; with other projections, or a matrix of several heads side by side,
/// write `project(W, Wk, Wv, heads<4>) | dot`.
/// Errors: shape_error where W does not fit query and key.
/// Source: Luong, Pham and Manning 2015, equation 8, general.
template <class Matrix>
constexpr auto general(Matrix&& matrix) {
    return project(std::forward<Matrix>(matrix), as_is, as_is) | dot;
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed general(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
