// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/score/rescore.hpp>

namespace fovea::FOVEA_SET {

/// temperature: scores divided by a number for the whole call, for each head or for each query.
///
///     s' = s / t
///     temperature(0.5)    temperature(param(t)[head])    temperature(param(t)[q_idx])
///
/// Shapes: `t` is a number or an expression of head, batch and q_idx.
/// Cost: none if t does not depend on the key: it is folded into the query.
/// Gradients: of the score and the tables that `t` reads.
/// Edge cases: above 1 the weights become more even, below 1 the best key gets more.
/// Errors: std::invalid_argument for the number 0; shape_error where a table has fewer elements than the call reads.
/// Source: Hinton, Vinyals and Dean 2015, equation 1.
template <operand Temperature>
constexpr auto temperature(Temperature const& t) {
    detail::require_number("temperature: t", t, "a number other than 0", [](double x) { return x < 0 || x > 0; });
    return rescore(placeholders::score / as_expression(t));
}
template <class... Others>
constexpr ill_formed temperature(Others const&...) {
    return detail::refuse_all_but_operand<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
