// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/functions.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// causal: a query sees the keys up to its own position, counted from the start of both.
///
///     kv_idx <= q_idx
///
/// Half of the tiles are never visited. For queries at the end of a cache use causal_at_end.
struct causal_t : stage<role::mask> {
    static constexpr std::string_view name = "causal";
    constexpr auto predicate() const {
        using namespace placeholders;
        return kv_idx <= q_idx;
    }
};
inline constexpr causal_t causal{};

}  // namespace fovea::FOVEA_SET
