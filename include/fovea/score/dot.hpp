// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/functions.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// dot: the inner product of query and key.
///
///     s_ij = sum_c q_ic k_jc
///
/// Shapes: query and key have the same number of features.
/// Cost: one matrix product, tile by tile.
/// Edge cases: with no features the score is 0.
/// Errors: shape_error where query and key have different numbers of features.
/// Source: Luong, Pham and Manning 2015, equation 8, dot.
struct dot_t : stage<role::score> {
    static constexpr std::string_view name = "dot";
    constexpr auto expression() const {
        using namespace placeholders;
        return sum(q * k);
    }
};
inline constexpr dot_t dot{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
