// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: rescore takes an expression of score, or a function that returns one, of (auto score, auto at) or
// of (auto score, auto b, auto h, auto q_idx, auto kv_idx)
#include <fovea/score/rescore.hpp>

using namespace fovea;

#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const mine =
    rescore([](float score, int, int, int q_idx, int kv_idx) { return score + float(kv_idx - q_idx); });
#else
[[maybe_unused]] auto const mine =
    rescore([](auto score, auto, auto, auto q_idx, auto kv_idx) { return score + (kv_idx - q_idx); });
#endif
