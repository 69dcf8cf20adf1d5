// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/score/rescore.hpp>

namespace fovea::FOVEA_SET {

/// temperature: scores divided by a number, of the whole call, of each head or of each query.
///
///     s' = s / t
///     temperature(0.5)    temperature(param(t)[head])    temperature(param(t)[q_idx])
///
/// Above 1 weights become more alike, below 1 the best key takes more. Cost: none where t does not depend on the key:
/// it is folded into the query. Source: Hinton, Vinyals and Dean 2015, equation 1.
template <operand Temperature>
constexpr auto temperature(Temperature const& t) {
    return rescore(placeholders::score / as_expression(t));
}

}  // namespace fovea::FOVEA_SET
