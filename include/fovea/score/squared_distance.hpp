// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/score/compare.hpp>

namespace fovea::FOVEA_SET {

/// squared_distance: the squared distance of query and key, or of rows of tables, an expression for `compare`.
///
///     d_ij = sum_c (a_ic - b_jc)^2
///     squared_distance(q, k)    squared_distance(q, k, features(0, 3))
///     squared_distance(param(place)[q_idx], param(place)[kv_idx])
///
/// Shapes: a range of features is the third argument; tables then have as many elements as the range.
/// Cost: of q and k one matrix product; of tables, and inside a function with less than 16 features or so few queries
/// that one tile has them all, a multiply-add for each feature and pair.
/// Edge cases: never below 0. Where the score is a multiple of it, or that with something added, digits are lost far
/// from 0; inside a function none are, and pairs close beside the others cost as much as of tables. Errors: those of
/// `sum`; at compile time, for what is no expression.
template <class A, class B, class... Range>
    requires((expression_operands<A, B> || detail::hides_placeholder<A, B>) && sizeof...(Range) <= 1)
constexpr auto squared_distance(A const& a, B const& b, Range const&... range) {
    return sum(square(a - b), range...);
}
template <class... Others>
constexpr literal<double> squared_distance(Others const&...) {
    static_assert(never<Others...>,
                  "fovea: squared_distance takes two expressions, such as q and k, and may take a range of features");
    return {};
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
