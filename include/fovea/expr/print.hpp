// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/operators.hpp>

#include <array>
#include <cstdio>
#include <string>

namespace fovea::FOVEA_SET {

namespace detail {
template <class E>
constexpr int precedence_of() {
    if constexpr (is_node<E>) {
        if constexpr (requires { E::operation::precedence; }) return E::operation::precedence;
    }
    return 9;
}

template <class E>
std::string print_above(E const& e, int precedence);

template <class Number>
std::string print_number(Number x) {
    if constexpr (std::is_same_v<Number, bool>) return x ? "true" : "false";
    else if constexpr (std::is_integral_v<Number>) return std::to_string(x);
    else {
        std::array<char, 32> text{};  // 6 digits, as streams write
        std::snprintf(text.data(), text.size(), "%g", static_cast<double>(x));
        return text.data();
    }
}
}  // namespace detail

/// print: an expression as text, with the parentheses it needs: "sum(q * k) * rsqrt(dim)".
template <class E>
std::string print(E const& e) {
    if constexpr (is_placeholder<E>) {
        return std::string(E::name.view());
    } else if constexpr (is_literal<E>) {
        return detail::print_number(e.value);
    } else if constexpr (is_parameter<E>) {
        return "param";
    } else if constexpr (is_node_of<at_operation, E>) {
        return with_children(e, [](auto const&, auto const&... indices) {
            std::string list;
            ((list += (list.empty() ? "" : ", ") + print(indices)), ...);
            return "param[" + list + "]";
        });
    } else if constexpr (requires { E::operation::precedence; } && E::arity == 2) {
        constexpr int level = E::operation::precedence;
        return detail::print_above(get<0>(e), level) + " " + std::string(E::operation::symbol) + " "
             + detail::print_above(get<1>(e), level + 1);
    } else if constexpr (requires { E::operation::precedence; }) {
        return std::string(E::operation::symbol) + detail::print_above(get<0>(e), E::operation::precedence);
    } else {
        return with_children(e, [](auto const&... children) {
            std::string list;
            ((list += (list.empty() ? "" : ", ") + print(children)), ...);
            return std::string(E::operation::name) + "(" + list + ")";
        });
    }
}

namespace detail {
template <class E>
std::string print_above(E const& e, int precedence) {
    auto const text = print(e);
    return precedence_of<E>() < precedence ? "(" + text + ")" : text;
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
