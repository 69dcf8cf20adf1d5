// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Views and tensors where an expression was meant: variables named q and k hide the placeholders of these names.
#pragma once

#include <fovea/core/as_view.hpp>
#include <fovea/core/diagnose.hpp>
#include <fovea/expr/literal.hpp>

namespace fovea::FOVEA_SET {

namespace detail {
template <class V>
concept of_the_library = is_view<V> || has_view<V const>;

/// A view or a tensor beside one, or beside an expression; a container of any kind beside an expression.
template <class A, class B>
concept hides_placeholder =
    (of_the_library<A> && (operand<B> || viewable<B const>)) || (of_the_library<B> && (operand<A> || viewable<A const>))
    || (expression<A> && viewable<B const>) || (viewable<A const> && expression<B>);

/// The sentence, and a number in place of an expression.
template <class... Operands>
constexpr literal<double> no_placeholder() {
    static_assert(never<Operands...>,
                  "fovea: this is a table, not an expression: write param(table), or rename the variable q or k that "
                  "hides the placeholder");
    return {};
}
}  // namespace detail

template <class A, class B>
    requires detail::hides_placeholder<A, B>
constexpr auto operator+(A const&, B const&) {
    return detail::no_placeholder<A, B>();
}
template <class A, class B>
    requires detail::hides_placeholder<A, B>
constexpr auto operator-(A const&, B const&) {
    return detail::no_placeholder<A, B>();
}
template <class A, class B>
    requires detail::hides_placeholder<A, B>
constexpr auto operator*(A const&, B const&) {
    return detail::no_placeholder<A, B>();
}
template <class A, class B>
    requires detail::hides_placeholder<A, B>
constexpr auto operator/(A const&, B const&) {
    return detail::no_placeholder<A, B>();
}

template <detail::of_the_library A>
constexpr auto operator-(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto abs(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto square(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto exp(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto log(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto tanh(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto erf(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto sqrt(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto rsqrt(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto sigmoid(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto silu(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto gelu(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto relu(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto elu(A const&) {
    return detail::no_placeholder<A>();
}

}  // namespace fovea::FOVEA_SET
