// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/mask/where.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// shared_prefix: sequences that begin with the same tokens, which are stored once, in front of all sequences.
///
///     kv_idx < prefix  ||  (ids[q_idx] == ids[kv_idx - prefix]  &&  kv_idx - prefix <= q_idx)
///
/// Shapes: keys are the prefix and then the sequences, one after another; queries are the sequences. ids is (position),
/// the sequence that each query belongs to, kept as a view.
/// Cost: tiles of the prefix are not masked, and are read once for all sequences; tiles across two sequences are never
/// visited.
/// Edge cases: a prefix of 0 is `document` with `causal`, below 0 keys are shifted back. Without keys after the prefix
/// all pairs are visible.
/// Errors: shape_error where ids has fewer elements than there are queries.
/// Source: Juravsky et al. 2024 (Hydragen), section 3.
template <operand Prefix, class Ids>
constexpr auto shared_prefix(Prefix const& prefix, Ids&& ids) {
    using namespace placeholders;
    auto const own = kv_idx - as_expression(prefix);
    auto const table = detail::table_param<1>(std::forward<Ids>(ids));
    auto const inside = max(min(own, table.table.extent(0) - 1), 0);
    return where(own < 0 || (table[q_idx] == table[inside] && own <= q_idx));
}
template <class... Others>
    requires(sizeof...(Others) != 2)
constexpr ill_formed shared_prefix(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
