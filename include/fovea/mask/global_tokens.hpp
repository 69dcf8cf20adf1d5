// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/mask/where.hpp>

namespace fovea::FOVEA_SET {

/// global_tokens: the first tokens see all and are seen by all; to be joined to a window by ||.
///
///     q_idx < count  ||  kv_idx < count
///     sliding_window(256, 256) || global_tokens(4)
///
/// Cost: the first rows and the first columns of tiles. Source: Beltagy, Peters and Cohan 2020, section 3.1.
constexpr auto global_tokens(index_t count) {
    using namespace placeholders;
    return where(q_idx < count || kv_idx < count);
}

}  // namespace fovea::FOVEA_SET
