// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/mask/where.hpp>

namespace fovea::FOVEA_SET {

/// causal_from: causal with the first query at a position of its own, as when queries continue what a cache holds.
///
///     kv_idx <= q_idx + offset
///     causal_from(param(cached)[batch])    causal_from(128)
///
/// The offset is a number or an expression of batch and head: how many keys lie before the first query.
/// 0 is causal; kv_len - q_len is causal_at_end. With a negative offset the first queries see nothing and get zeros.
template <operand Offset>
constexpr auto causal_from(Offset const& offset) {
    using namespace placeholders;
    return where(kv_idx <= q_idx + as_expression(offset));
}

}  // namespace fovea::FOVEA_SET
