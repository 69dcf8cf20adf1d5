// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ALiBi, soft-capping and a sliding window, as a specification that takes its tables and numbers with each call.
#pragma once

//! [specification]
#include <fovea/bindings/takes.hpp>
#include <fovea/fovea.hpp>

using namespace fovea;
using namespace fovea::placeholders;

/// ALiBi in a causal window, with scores between -cap and cap.
inline constexpr auto capped_alibi = takes<"slopes(heads), cap, window">(
    [](view<float const, 1> slopes, float cap, index_t window) {
        return scaled_dot
             | rescore(score + param(slopes)[head] * (kv_idx - q_idx))
             | rescore(cap * tanh(score / cap))
             | causal | where(q_idx - kv_idx < window)
             | softmax | weighted_sum;
    });
//! [specification]
