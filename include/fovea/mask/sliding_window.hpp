// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/integer_argument.hpp>
#include <fovea/mask/where.hpp>

namespace fovea::FOVEA_SET {

/// sliding_window: a query sees the keys at most `left` before and `right` after its own position.
///
///     q_idx - kv_idx <= left  &&  kv_idx - q_idx <= right
///
/// Shapes: `left` and `right` are numbers of positions.
/// Cost: only the tiles of the band are visited: linear in the number of queries.
/// Edge cases: 0 and 0 show each query the key at its own position. With causal_from or other offsets, or for a window
/// that leaves out its own position, write the condition with `where`. For no limit pass the number of keys.
/// Errors: std::invalid_argument for a negative size, which means no limit in other libraries.
/// Source: Beltagy, Peters and Cohan 2020, section 3.1.
constexpr auto sliding_window(integer_argument left, integer_argument right) {
    using namespace placeholders;
    detail::require_0_or_more("sliding_window: left", left.value);
    detail::require_0_or_more("sliding_window: right", right.value);
    return where(q_idx - kv_idx <= left.value && kv_idx - q_idx <= right.value);
}
template <class... Others>
    requires(sizeof...(Others) != 2)
constexpr ill_formed sliding_window(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
