// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// concat_heads: the results of all heads, side by side.
///
///     out_(h * d + c) = out^h_c
///
/// The result is (batch, position, heads * d). Cost: none, each head writes its own columns.
struct concat_heads_t : stage<role::finish> {
    static constexpr std::string_view name = "concat_heads";
    static constexpr bool concatenates_heads = true;
};
inline constexpr concat_heads_t concat_heads{};

}  // namespace fovea::FOVEA_SET
