// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/mask/where.hpp>

namespace fovea::FOVEA_SET {

/// Masks combine like conditions: both, either, not.
///
///     causal && sliding_window(256, 0)      causal || where(kv_idx < prefix)      !causal
///
/// The result is a mask whose predicate is the combined expression, so tiles are still read from it.
/// A mask that lists keys, such as neighbors, can be narrowed by `&&` and nothing else.
template <mask A, mask B>
constexpr auto operator&&(A const& a, B const& b) {
    if constexpr (enumerating_mask<A> || enumerating_mask<B>) return intersection<A, B>(a, b);
    else return where(a.predicate() && b.predicate());
}
template <mask A, mask B>
constexpr auto operator||(A const& a, B const& b) {
    static_assert(!enumerating_mask<A> && !enumerating_mask<B>,
                  "fovea: a mask that lists keys cannot be widened by `||`: add the keys to its list");
    return where(a.predicate() || b.predicate());
}
template <mask A>
constexpr auto operator!(A const& a) {
    static_assert(!enumerating_mask<A>, "fovea: a mask that lists keys has no opposite: list the other keys");
    return where(!a.predicate());
}

}  // namespace fovea::FOVEA_SET
