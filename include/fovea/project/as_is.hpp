// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/index.hpp>

#include <string>

namespace fovea::FOVEA_SET {

/// as_is: the input itself, cut into heads along its features.
///
///     y = x
///
/// Shapes: (batch, position, heads * d) is viewed as (batch, head, position, d).
/// Cost: none, nothing is copied.
/// Edge cases: a source that already has heads, (batch, head, position, d), is used unchanged.
/// Errors: shape_error where the features are not a multiple of the heads.
struct as_is_t {
    using row_map_tag = void;
    constexpr index_t features(index_t in) const { return in; }
    std::string text() const { return "as_is"; }
};
inline constexpr as_is_t as_is{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
