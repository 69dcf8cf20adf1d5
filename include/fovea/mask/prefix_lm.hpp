// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/mask/where.hpp>

namespace fovea::FOVEA_SET {

/// prefix_lm: everybody sees a prefix, and what follows it is causal.
///
///     kv_idx < prefix  ||  kv_idx <= q_idx
///     prefix_lm(128)    prefix_lm(param(prefixes)[batch])
///
/// The prefix is a number or an expression of batch and head. 0 is causal; kv_len is no mask.
/// Cost: tiles above the diagonal and behind the prefix are never visited. Source: Raffel et al. 2020, section 3.2.1.
template <operand Prefix>
constexpr auto prefix_lm(Prefix const& prefix) {
    using namespace placeholders;
    return where(kv_idx < as_expression(prefix) || kv_idx <= q_idx);
}

}  // namespace fovea::FOVEA_SET
