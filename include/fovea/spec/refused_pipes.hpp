// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What cannot be joined by `|`, `&&` and `||`: a sentence each. Included by spec/pipe.hpp.
#pragma once

#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// An expression is no part of an attention.
template <class Left, expression Right>
    requires pipeable<Left>
constexpr ill_formed operator|(Left const&, Right const&) {
    static_assert(never<Left>,
                  "fovea: this is an expression: write where(condition), rescore(scores) or reweight(weights)");
    return {};
}

/// A selection is an argument of keep.
template <class Left, selection Right>
    requires pipeable<Left>
constexpr ill_formed operator|(Left const&, Right const&) {
    static_assert(never<Left>, "fovea: this is a selection: write keep(...) around it");
    return {};
}
template <selection Left, class Right>
    requires pipeable<Right>
constexpr ill_formed operator|(Left const&, Right const&) {
    static_assert(never<Left>, "fovea: this is a selection: write keep(...) around it");
    return {};
}
template <selection Left, selection Right>
constexpr ill_formed operator&&(Left const&, Right const&) {
    static_assert(never<Left>, "fovea: selections follow each other: write keep(...) | keep(...)");
    return {};
}

/// A function is a word once it is called: of what its name stands for, this takes the overload without arguments, and
/// that says so.
template <class Left>
    requires pipeable<Left>
constexpr ill_formed operator|(Left const&, ill_formed (&)()) {
    return {};
}

// Operands, executors and outputs are not joined.
namespace detail {
template <class Other>
constexpr bool is_no_part() {
    return !expression<Other> && !is_ill_formed<Other> && !selection<Other> && !std::is_function_v<Other>
        && !requires { typename Other::state_update_tag; } && !requires { typename Other::precision_tag; };
}
template <class Left, class Right>
constexpr bool is_refused_pipe() {
    if constexpr (pipeable<Left>) {
        if constexpr (pipeable<Right>) return false;
        else return is_no_part<Right>();
    } else if constexpr (pipeable<Right>) return is_no_part<Left>();
    else return false;
}
}  // namespace detail
template <class Left, class Right>
    requires(detail::is_refused_pipe<Left, Right>())
constexpr ill_formed operator|(Left const&, Right const&) {
    static_assert(never<Left>,
                  "fovea: words and specifications are joined by `|`; operands, threads and outputs are arguments of "
                  "attend");
    return {};
}

// What has been reported once is not reported again.
template <class Right>
constexpr ill_formed operator|(ill_formed, Right const&) {
    return {};
}
template <pipeable Left>
constexpr ill_formed operator|(Left const&, ill_formed) {
    return {};
}
template <class Left, class Right>
    requires(is_ill_formed<Left> || is_ill_formed<Right>)
constexpr ill_formed operator&&(Left const&, Right const&) {
    return {};
}
template <class Left, class Right>
    requires(is_ill_formed<Left> || is_ill_formed<Right>)
constexpr ill_formed operator||(Left const&, Right const&) {
    return {};
}
constexpr ill_formed operator!(ill_formed) { return {}; }

/// a | mask && mask | b: the compiler reads (a | mask) && (mask | b).
template <class Left, class Right>
    requires((attention_spec<Left> || attention_spec<Right>) && !is_ill_formed<Left> && !is_ill_formed<Right>)
constexpr ill_formed operator&&(Left const&, Right const&) {
    static_assert(never<Left>,
                  "fovea: `|` binds tighter than `&&`: put parentheses around the mask, or pipe the masks one after "
                  "the other");
    return {};
}
template <class Left, class Right>
    requires((attention_spec<Left> || attention_spec<Right>) && !is_ill_formed<Left> && !is_ill_formed<Right>)
constexpr ill_formed operator||(Left const&, Right const&) {
    static_assert(never<Left>, "fovea: `|` binds tighter than `||`: put parentheses around the mask");
    return {};
}

// Masks combine with masks and conditions alone.
namespace detail {
template <class Other>
constexpr bool is_no_mask() {
    return !mask<Other> && !attention_spec<Other> && !is_ill_formed<Other>;
}
template <class A, class B>
constexpr bool is_refused_logic() {
    if constexpr (expression<A> || expression<B>) return false;
    else if constexpr (mask<A>) return is_no_mask<B>();
    else if constexpr (mask<B>) return is_no_mask<A>();
    else return false;
}
template <class A>
constexpr ill_formed refuse_logic() {
    static_assert(never<A>, "fovea: a mask combines with masks and with conditions such as kv_idx < 5");
    return {};
}
}  // namespace detail
template <class A, class B>
    requires(detail::is_refused_logic<A, B>())
constexpr ill_formed operator&&(A const&, B const&) {
    return detail::refuse_logic<A>();
}
template <class A, class B>
    requires(detail::is_refused_logic<A, B>())
constexpr ill_formed operator||(A const&, B const&) {
    return detail::refuse_logic<A>();
}

// Masks have no bits either, beside each other and beside conditions.
template <mask A, class B>
    requires(mask<B> || expression<B>)
constexpr auto operator&(A const& a, B const&) {
    return detail::without_bits(a);
}
template <expression A, mask B>
constexpr auto operator&(A const&, B const& b) {
    return detail::without_bits(b);
}
template <mask A, class B>
    requires(mask<B> || expression<B>)
constexpr auto operator^(A const& a, B const&) {
    return detail::without_bits(a);
}
template <expression A, mask B>
constexpr auto operator^(A const&, B const& b) {
    return detail::without_bits(b);
}
template <mask A>
constexpr auto operator~(A const& a) {
    return detail::without_bits(a);
}

}  // namespace fovea::FOVEA_SET
