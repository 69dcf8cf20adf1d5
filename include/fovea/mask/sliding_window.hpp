// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/mask/where.hpp>

namespace fovea::FOVEA_SET {

/// sliding_window: a query sees the keys at most `left` before and `right` after its own position.
///
///     q_idx - kv_idx <= left  &&  kv_idx - q_idx <= right
///
/// Cost: the tiles of the band only, linear in the number of queries. Errors: none; negative sizes see less.
/// Source: Beltagy, Peters and Cohan 2020, section 3.1.
constexpr auto sliding_window(index_t left, index_t right) {
    using namespace placeholders;
    return where(q_idx - kv_idx <= left && kv_idx - q_idx <= right);
}

}  // namespace fovea::FOVEA_SET
