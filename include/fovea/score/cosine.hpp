// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/functions.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// cosine: the cosine of the angle between query and key.
///
///     s_ij = sum_c q_ic k_jc / (max(|q_i|, 1e-8) max(|k_j|, 1e-8))
///
/// Shapes: query and key have the same number of features.
/// Cost: one matrix product and one number for each query and key.
/// Edge cases: scores are between -1 and 1: a temperature below 1 sharpens the weights. A vector of zeros has no
/// direction; it scores 0 with everything.
/// Errors: shape_error where query and key have different numbers of features.
/// Source: Graves, Wayne and Danihelka 2014, equation 6.
struct cosine_t : stage<role::score> {
    static constexpr std::string_view name = "cosine";
    constexpr auto expression() const {
        using namespace placeholders;
        return sum(q * k) * (1 / max(1e-8, sqrt(sum(q * q)))) * (1 / max(1e-8, sqrt(sum(k * k))));
    }
};
inline constexpr cosine_t cosine{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
