// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// unnormalized: the scores are the weights.
///
///     w_j = s_j
///
/// Cost: elementwise: nothing is carried from key to key.
/// Edge cases: an excluded pair has weight 0.
/// Errors: at compile time, for `lse`.
struct unnormalized_t : stage<role::normalizer> {
    static constexpr std::string_view name = "unnormalized";
    static constexpr bool weights_are_scores = true;
    template <class V>
    static constexpr V weight(V score) {
        return score;
    }
};
inline constexpr unnormalized_t unnormalized{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
