// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exactly the operators that the language has.
#pragma once

#include <fovea/expr/literal.hpp>
#include <fovea/expr/operations.hpp>
#include <fovea/expr/param.hpp>
#include <fovea/expr/placeholder.hpp>

namespace fovea::FOVEA_SET {

/// Two operands of which at least one is an expression.
template <class A, class B>
concept expression_operands = operand<A> && operand<B> && (expression<A> || expression<B>);

namespace detail {
template <class Operation, class... Operands>
constexpr auto build(Operands const&... operands) {
    return make_node<Operation>(as_expression(operands)...);
}
}  // namespace detail

template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator+(A const& a, B const& b) {
    return detail::build<operations::plus>(a, b);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator-(A const& a, B const& b) {
    return detail::build<operations::minus>(a, b);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator*(A const& a, B const& b) {
    return detail::build<operations::times>(a, b);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator/(A const& a, B const& b) {
    return detail::build<operations::divided>(a, b);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator%(A const& a, B const& b) {
    return detail::build<operations::modulo>(a, b);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator<(A const& a, B const& b) {
    return detail::build<operations::less>(a, b);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator<=(A const& a, B const& b) {
    return detail::build<operations::less_equal>(a, b);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator>(A const& a, B const& b) {
    return detail::build<operations::greater>(a, b);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator>=(A const& a, B const& b) {
    return detail::build<operations::greater_equal>(a, b);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator==(A const& a, B const& b) {
    return detail::build<operations::equal>(a, b);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator!=(A const& a, B const& b) {
    return detail::build<operations::not_equal>(a, b);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator&&(A const& a, B const& b) {
    return detail::build<operations::logical_and>(a, b);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator||(A const& a, B const& b) {
    return detail::build<operations::logical_or>(a, b);
}
template <expression A>
constexpr auto operator-(A const& a) {
    return detail::build<operations::negate>(a);
}
template <expression A>
constexpr auto operator!(A const& a) {
    return detail::build<operations::logical_not>(a);
}

}  // namespace fovea::FOVEA_SET
