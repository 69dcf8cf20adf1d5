// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/normalize/softmax_with_sink.hpp>

namespace fovea::FOVEA_SET {

/// softmax_plus_one: softmax that can attend to nothing: softmax_with_sink(0).
///
///     w_j = exp(s_j) / (1 + sum_k exp(s_k))
///
/// Cost: as `softmax`.
/// Edge cases: where all scores are far below 0, all weights are near 0.
/// Source: Miller 2023, "Attention is off by one".
inline constexpr auto softmax_plus_one = softmax_with_sink(0);

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
