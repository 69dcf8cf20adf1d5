// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/functions.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// causal_at_end: causal with the last query aligned to the last key (bottom-right), as decoding with a cache needs it.
///
///     kv_idx <= q_idx + (kv_len - q_len)
///
/// Cost: tiles above the diagonal are never visited, tiles below it are not masked.
/// Edge cases: with more queries than keys, the first queries see no key and get zeros; with equally many it is
/// `causal`.
struct causal_at_end_t : stage<role::mask> {
    static constexpr std::string_view name = "causal_at_end";
    constexpr auto predicate() const {
        using namespace placeholders;
        return kv_idx <= q_idx + (kv_len - q_len);
    }
};
inline constexpr causal_at_end_t causal_at_end{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
