// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/integer_argument.hpp>
#include <fovea/mask/where.hpp>

namespace fovea::FOVEA_SET {

/// sliding_window: a query sees the keys at most `left` before and `right` after its own position.
///
///     q_idx - kv_idx <= left  &&  kv_idx - q_idx <= right
///
/// Shapes: `left` and `right` are numbers of positions.
/// Cost: the tiles of the band only: linear in the number of queries.
/// Edge cases: negative sizes shrink the window. With causal_from or other offsets, write the condition with `where`.
/// Source: Beltagy, Peters and Cohan 2020, section 3.1.
constexpr auto sliding_window(integer_argument left, integer_argument right) {
    using namespace placeholders;
    return where(q_idx - kv_idx <= left.value && kv_idx - q_idx <= right.value);
}
template <class... Others>
    requires(sizeof...(Others) != 2)
constexpr ill_formed sliding_window(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET
