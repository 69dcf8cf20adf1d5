// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// residual: adds the source of the queries to the result.
///
///     E' = E + attention(E)
///
/// Shapes: the result has the extents of the source of the queries; with a projection, that is its input.
/// Cost: one addition for each feature.
/// Edge cases: in a pre-norm block queries are made of normalized rows, and what is added is another array x: write
/// `map(out + param(x)(batch, q_idx))`, or `param(x)[q_idx]` for (position, feature).
/// Errors: shape_error where the result has other extents than that source.
/// Source: He et al. 2016, equation 1.
struct residual_t : stage<role::finish> {
    static constexpr std::string_view name = "residual";
    static constexpr bool adds_source = true;
};
inline constexpr residual_t residual{};

}  // namespace fovea::FOVEA_SET
