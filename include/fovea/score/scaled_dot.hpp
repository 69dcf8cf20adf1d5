// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/functions.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// scaled_dot: the inner product divided by the square root of the number of features.
///
///     s_ij = (1 / sqrt(d)) sum_c q_ic k_jc
///
/// Query (d) and key (d) have the same number of features; with none, the score is 0 times infinity, NaN.
/// The scale is folded into the queries. Source: Vaswani et al. 2017, equation 1.
struct scaled_dot_t : stage<role::score> {
    static constexpr std::string_view name = "scaled_dot";
    constexpr auto expression() const {
        using namespace placeholders;
        return sum(q * k) * rsqrt(dim);
    }
};
inline constexpr scaled_dot_t scaled_dot{};

}  // namespace fovea::FOVEA_SET
