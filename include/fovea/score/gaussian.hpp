// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/score/compare.hpp>

namespace fovea::FOVEA_SET {

/// gaussian: how near key and query are: minus half their squared distance in units of a width.
///
///     s_ij = -sum_c (q_ic - k_jc)^2 / (2 width^2)
///
/// With softmax, weights are those of a Gaussian kernel (Nadaraya-Watson regression). Cost: one matrix product and one
/// number for each query and key, since the square is taken apart. The width is a number or an expression of head.
/// Source: Nadaraya 1964; Zhang et al. 2023, section 11.2.
template <operand Width>
constexpr auto gaussian(Width const& width) {
    using namespace placeholders;
    return compare((sum(q * k) - 0.5 * sum(q * q) - 0.5 * sum(k * k)) * (1.0 / square(as_expression(width))));
}

}  // namespace fovea::FOVEA_SET
