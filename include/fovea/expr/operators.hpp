// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exactly the operators that the language has.
#pragma once

#include <fovea/expr/literal.hpp>
#include <fovea/expr/operations.hpp>
#include <fovea/expr/param.hpp>
#include <fovea/expr/placeholder.hpp>

namespace fovea::FOVEA_SET {

/// True where an expression is a condition rather than a number.
template <class E>
inline constexpr bool is_condition = false;
template <>
inline constexpr bool is_condition<literal<bool>> = true;
template <>
inline constexpr bool is_condition<always_t> = true;
template <class T, int Rank, class... Indices>
inline constexpr bool is_condition<node<at_operation, parameter<T, Rank>, Indices...>> = detail::is_truth<T>;
template <class Operation, class... Operands>
    requires(std::is_same_v<Operation, operations::less> || std::is_same_v<Operation, operations::less_equal>
             || std::is_same_v<Operation, operations::greater> || std::is_same_v<Operation, operations::greater_equal>
             || std::is_same_v<Operation, operations::equal> || std::is_same_v<Operation, operations::not_equal>
             || std::is_same_v<Operation, operations::logical_and> || std::is_same_v<Operation, operations::logical_or>
             || std::is_same_v<Operation, operations::logical_not>)
inline constexpr bool is_condition<node<Operation, Operands...>> = true;

/// Two operands of which at least one is an expression.
template <class A, class B>
concept expression_operands = operand<A> && operand<B> && (expression<A> || expression<B>);

namespace detail {
template <class Operation, class... Operands>
constexpr auto build(Operands const&... operands) {
    return make_node<Operation>(as_expression(operands)...);
}
template <class... Operands>
inline constexpr bool are_conditions = (is_condition<decltype(as_expression(std::declval<Operands const&>()))> && ...);
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
template <expression A>
constexpr auto operator-(A const& a) {
    return detail::build<operations::negate>(a);
}
template <expression A>
constexpr A operator+(A const& a) {
    return a;
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
constexpr auto operator!(A const& a) {
    return detail::build<operations::logical_not>(a);
}

// Numbers are compared; conditions are equal where both hold or neither does.
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator==(A const& a, B const& b) {
    if constexpr (detail::are_conditions<A, B>) return (a && b) || !(a || b);
    else return detail::build<operations::equal>(a, b);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator!=(A const& a, B const& b) {
    if constexpr (detail::are_conditions<A, B>) return (a || b) && !(a && b);
    else return detail::build<operations::not_equal>(a, b);
}

// Operators on bits: a sentence, and the first operand.
namespace detail {
template <class A>
constexpr A without_bits(A const& a) {
    static_assert(never<A>, "fovea: there are no bitwise operators: combine conditions and masks by &&, || and !");
    return a;
}
}  // namespace detail
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator&(A const& a, B const&) {
    return detail::without_bits(as_expression(a));
}
template <expression A, operand B>
constexpr auto operator|(A const& a, B const&) {
    return detail::without_bits(a);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator^(A const& a, B const&) {
    return detail::without_bits(as_expression(a));
}
template <expression A>
constexpr auto operator~(A const& a) {
    return detail::without_bits(a);
}

// Shifts likewise.
namespace detail {
template <class A>
constexpr A without_shifts(A const& a) {
    static_assert(never<A>, "fovea: there are no shifts: write i * 4 for i << 2, and i / 4 for i >> 2");
    return a;
}
}  // namespace detail
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator<<(A const& a, B const&) {
    return detail::without_shifts(as_expression(a));
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto operator>>(A const& a, B const&) {
    return detail::without_shifts(as_expression(a));
}

// Nothing is assigned: `=` itself is in expr/node.hpp.
template <expression A, class B>
constexpr auto operator+=(A const& a, B const&) {
    return detail::without_change(a);
}
template <expression A, class B>
constexpr auto operator-=(A const& a, B const&) {
    return detail::without_change(a);
}
template <expression A, class B>
constexpr auto operator*=(A const& a, B const&) {
    return detail::without_change(a);
}
template <expression A, class B>
constexpr auto operator/=(A const& a, B const&) {
    return detail::without_change(a);
}
template <expression A, class B>
constexpr auto operator%=(A const& a, B const&) {
    return detail::without_change(a);
}
template <expression A, class B>
constexpr auto operator&=(A const& a, B const&) {
    return detail::without_change(a);
}
template <expression A, class B>
constexpr auto operator|=(A const& a, B const&) {
    return detail::without_change(a);
}
template <expression A, class B>
constexpr auto operator^=(A const& a, B const&) {
    return detail::without_change(a);
}
template <expression A>
constexpr auto operator++(A const& a) {
    return detail::without_change(a);
}
template <expression A>
constexpr auto operator++(A const& a, int) {
    return detail::without_change(a);
}
template <expression A>
constexpr auto operator--(A const& a) {
    return detail::without_change(a);
}
template <expression A>
constexpr auto operator--(A const& a, int) {
    return detail::without_change(a);
}

/// substitute: the expression with every occurrence of a placeholder replaced by another expression.
template <class E, class Placeholder, expression Replacement>
constexpr auto substitute(E const& e, Placeholder placeholder, Replacement const& replacement) {
    if constexpr (std::is_same_v<E, Placeholder>) {
        return replacement;
    } else if constexpr (is_node<E>) {
        return with_children(e, [&](auto const&... children) {
            return make_node<typename E::operation>(substitute(children, placeholder, replacement)...);
        });
    } else {
        return e;
    }
}

}  // namespace fovea::FOVEA_SET
