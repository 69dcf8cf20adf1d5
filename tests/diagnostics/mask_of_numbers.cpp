// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: where takes a condition over indices, or a function that returns one, of `auto at` or of (auto b,
// auto h, auto q_idx, auto kv_idx)
#include <fovea/mask/where.hpp>

using namespace fovea;

#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const mine = where([](int, int, int q_idx, int kv_idx) { return q_idx >= kv_idx; });
#else
[[maybe_unused]] auto const mine = where([](auto, auto, auto q_idx, auto kv_idx) { return q_idx >= kv_idx; });
#endif
