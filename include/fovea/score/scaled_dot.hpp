// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/functions.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// scaled_dot: the inner product of query and key, divided by the square root of their number of features.
///
///     s_ij = sum_c q_ic k_jc / sqrt(d)
///
/// Shapes: query and key have the same number of features, d.
/// Cost: one matrix product; the scale is folded into the query.
/// Edge cases: scaled_by takes a custom factor. With no features the score is 0 times infinity, NaN, while `dot` gives
/// 0.
/// Errors: shape_error where query and key have different numbers of features.
/// Source: Vaswani et al. 2017, equation 1.
struct scaled_dot_t : stage<role::score> {
    static constexpr std::string_view name = "scaled_dot";
    constexpr auto expression() const {
        using namespace placeholders;
        return sum(q * k) * rsqrt(dim);
    }
};
inline constexpr scaled_dot_t scaled_dot{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
