// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// concat_heads: the results of all heads, side by side.
///
///     out_(h d + c) = out^h_c
///
/// Shapes: (batch, head, position, d) becomes (batch, position, heads * d).
/// Cost: none, each head writes its own columns.
/// Edge cases: the heads that a projection makes are concatenated even if no finish says so.
/// Errors: shape_error where the result has other extents.
/// Source: Vaswani et al. 2017, section 3.2.2.
struct concat_heads_t : stage<role::finish> {
    static constexpr std::string_view name = "concat_heads";
    static constexpr bool concatenates_heads = true;
};
inline constexpr concat_heads_t concat_heads{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
