// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// mean_heads: the average of the results of all heads, as in the last layer of a graph attention network.
///
///     out_c = sum_h out^h_c / H
///
/// Shapes: (batch, head, position, d) becomes (batch, position, d).
/// Cost: one addition for each head and feature.
/// Edge cases: a single head is returned unchanged.
/// Errors: shape_error where the result has other extents.
/// Source: Velickovic et al. 2018, equation 6.
struct mean_heads_t : stage<role::finish> {
    static constexpr std::string_view name = "mean_heads";
    static constexpr bool averages_heads = true;
};
inline constexpr mean_heads_t mean_heads{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
