// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/mask/where.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// shared_prefix: sequences that begin with the same tokens, which are stored once in front of them.
///
///     kv_idx < prefix  ||  (ids[q_idx] == ids[kv_idx - prefix]  &&  kv_idx - prefix <= q_idx)
///
/// Keys are the prefix and then the sequences, one behind the other; queries are the sequences. ids is (position):
/// which sequence each query belongs to. Cost: tiles of the prefix are not masked and read once for all sequences.
/// Source: Juravsky et al. 2024, section 3.
template <operand Prefix, class Ids>
constexpr auto shared_prefix(Prefix const& prefix, Ids&& ids) {
    using namespace placeholders;
    auto const own = kv_idx - as_expression(prefix);
    auto const table = param(std::forward<Ids>(ids));
    auto const inside = max(min(own, table.table.extent(0) - 1), 0);
    return where(own < 0 || (table[q_idx] == table[inside] && own <= q_idx));
}

}  // namespace fovea::FOVEA_SET
