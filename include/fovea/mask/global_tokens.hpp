// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/integer_argument.hpp>
#include <fovea/mask/where.hpp>

namespace fovea::FOVEA_SET {

/// global_tokens: the first tokens see all keys and are visible to all queries; join it to a window by `||`.
///
///     q_idx < count  ||  kv_idx < count
///     sliding_window(256, 256) || global_tokens(4)
///
/// Shapes: `count` is a number of positions.
/// Cost: only the first rows and the first columns of tiles are visited.
/// Edge cases: 0 excludes every pair, unless it is joined to another mask. With a count beyond the positions all
/// pairs are visible.
/// Errors: std::invalid_argument for a negative count.
/// Source: Beltagy, Peters and Cohan 2020, section 3.1.
constexpr auto global_tokens(integer_argument count) {
    using namespace placeholders;
    detail::require_0_or_more("global_tokens: count", count.value);
    return where(q_idx < count.value || kv_idx < count.value);
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed global_tokens(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
