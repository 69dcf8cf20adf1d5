// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/functions.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// causal: a query sees the keys up to its own position; the first query is aligned to the first key.
///
///     kv_idx <= q_idx
///
/// Cost: tiles above the diagonal are never visited, tiles below it are not masked.
/// Edge cases: with more keys than queries, no query sees the last keys; for queries that continue a cache, use
/// causal_at_end or causal_from.
/// Source: Vaswani et al. 2017, section 3.2.3.
struct causal_t : stage<role::mask> {
    static constexpr std::string_view name = "causal";
    constexpr auto predicate() const {
        using namespace placeholders;
        return kv_idx <= q_idx;
    }
};
inline constexpr causal_t causal{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
