// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

using namespace fovea;

// case: mask_of_numbers
// sentence: fovea: where takes a condition over indices, or a function that returns one, of `auto at` or of (auto b,
// auto h, auto q_idx, auto kv_idx)
#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const mine = where([](int, int, int q_idx, int kv_idx) { return q_idx >= kv_idx; });
#else
[[maybe_unused]] auto const mine = where([](auto, auto, auto q_idx, auto kv_idx) { return q_idx >= kv_idx; });
#endif

// case: rescore_of_numbers
// sentence: fovea: rescore takes an expression of score, or a function that returns one, of (auto score, auto at) or
// of (auto score, auto b, auto h, auto q_idx, auto kv_idx)
#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const mine =
    rescore([](float score, int, int, int q_idx, int kv_idx) { return score + float(kv_idx - q_idx); });
#else
[[maybe_unused]] auto const mine =
    rescore([](auto score, auto, auto, auto q_idx, auto kv_idx) { return score + (kv_idx - q_idx); });
#endif
