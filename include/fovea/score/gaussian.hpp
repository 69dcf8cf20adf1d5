// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/score/compare.hpp>

namespace fovea::FOVEA_SET {

/// gaussian: minus half the squared distance of query and key, in units of a width.
///
///     s_ij = -sum_c (q_ic - k_jc)^2 / (2 width^2)
///
/// Shapes: query and key have the same number of features; the width is a number or an expression of head.
/// Cost: one matrix product and one number for each query and key: the square is decomposed.
/// Gradients: of query, key and the tables that the width reads.
/// Edge cases: with `softmax`, weights are those of a Gaussian kernel (Nadaraya-Watson regression). Features far from 0
/// lose precision in the difference of their products.
/// Errors: std::invalid_argument for a number that is not above 0; shape_error where query and key have different
/// numbers of features, or a table of widths has too few elements.
/// Source: Nadaraya 1964; Zhang et al. 2023 (Dive into Deep Learning), section 11.2.
template <operand Width>
constexpr auto gaussian(Width const& width) {
    using namespace placeholders;
    detail::require_above_0("gaussian: the width", width);
    return compare((sum(q * k) - 0.5 * sum(q * q) - 0.5 * sum(k * k)) * (1.0 / square(as_expression(width))));
}
template <class... Others>
constexpr ill_formed gaussian(Others const&...) {
    return detail::refuse_all_but_operand<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
