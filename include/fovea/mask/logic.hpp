// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/mask/where.hpp>

namespace fovea::FOVEA_SET {

namespace detail {
/// A function, which asks no more than it must: every `&&` between conditions asks.
template <class A, class B>
constexpr bool is_mask_beside_condition() {
    if constexpr (expression<A> == expression<B>) return false;
    else if constexpr (expression<A>) return mask<B>;
    else return mask<A>;
}
}  // namespace detail

/// logic: masks combine like conditions, and with them: and, or, not.
///
///     causal && sliding_window(256, 0)    causal || kv_idx < prefix    !causal
///
/// A condition beside a mask is where(condition).
/// Cost: the combined expression is analysed like any other: empty tiles are never visited.
/// Edge cases: `|` binds tighter than `&&`: put parentheses around a combination, or pipe masks one after the other. A
/// mask that lists keys, such as `neighbors`, can only be narrowed, by `&&`.
/// Errors: at compile time, for a mask that lists keys under `||` or `!`.
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
template <class A, class B>
    requires(detail::is_mask_beside_condition<A, B>())
constexpr auto operator&&(A const& a, B const& b) {
    return where(a) && where(b);
}
template <class A, class B>
    requires(detail::is_mask_beside_condition<A, B>())
constexpr auto operator||(A const& a, B const& b) {
    return where(a) || where(b);
}
template <mask A>
constexpr auto operator!(A const& a) {
    static_assert(!enumerating_mask<A>, "fovea: a mask that lists keys cannot be negated: list the other keys");
    return where(!a.predicate());
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
