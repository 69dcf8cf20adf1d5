// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/score/compare.hpp>

namespace fovea::FOVEA_SET {

/// scaled_by: the inner product of query and key times a factor of one's own.
///
///     s_ij = factor sum_c q_ic k_jc
///     scaled_by(0.125)    scaled_by(param(scales)[head])
///
/// The factor is a number or an expression of head, batch, q_idx and lengths; it is folded into the query.
/// Cost: one matrix product, as scaled_dot, which is scaled_by(rsqrt(dim)).
template <operand Factor>
constexpr auto scaled_by(Factor const& factor) {
    using namespace placeholders;
    return compare(sum(q * k) * as_expression(factor));
}

}  // namespace fovea::FOVEA_SET
