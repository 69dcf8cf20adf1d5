// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/operators.hpp>

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

template <class E, class Names>
std::string print_above(E const& e, Names const& names, int precedence);

template <class Number>
std::string print_number(Number x) {
    if constexpr (std::is_same_v<Number, bool>) return x ? "true" : "false";
    else if constexpr (std::is_integral_v<Number>) return std::to_string(x);
    else return text_of_real(static_cast<double>(x));
}
}  // namespace detail

/// The names of tables and numbers in an expression, where they have none.
struct without_names {
    template <class T, int Rank>
    std::string operator()(view<T, Rank> const&) const {
        return "param";
    }
    template <class Number>
    std::string operator()(Number x) const {
        return detail::print_number(x);
    }
};

/// print: an expression as text, with the parentheses it needs: "sum(q * k) * rsqrt(dim)".
///
/// names(table) and names(number) say how what was brought into it is written.
template <class E, class Names = without_names>
std::string print(E const& e, Names const& names = {}) {
    if constexpr (is_placeholder<E>) {
        return std::string(E::name.view());
    } else if constexpr (is_literal<E>) {
        return names(e.value);
    } else if constexpr (is_parameter<E>) {
        return names(e.table);
    } else if constexpr (is_node_of<at_operation, E>) {
        return with_children(e, [&](auto const& table, auto const&... indices) {
            std::string list;
            ((list += (list.empty() ? "" : ", ") + print(indices, names)), ...);
            return print(table, names) + "[" + list + "]";
        });
    } else if constexpr (requires { E::operation::precedence; } && E::arity == 2) {
        constexpr int level = E::operation::precedence;
        return detail::print_above(get<0>(e), names, level) + " " + std::string(E::operation::symbol) + " "
             + detail::print_above(get<1>(e), names, level + 1);
    } else if constexpr (requires { E::operation::precedence; }) {
        return std::string(E::operation::symbol) + detail::print_above(get<0>(e), names, E::operation::precedence);
    } else {
        return with_children(e, [&](auto const&... children) {
            std::string list;
            ((list += (list.empty() ? "" : ", ") + print(children, names)), ...);
            return std::string(E::operation::name) + "(" + list + ")";
        });
    }
}

namespace detail {
template <class E, class Names>
std::string print_above(E const& e, Names const& names, int precedence) {
    auto const text = print(e, names);
    return precedence_of<E>() < precedence ? "(" + text + ")" : text;
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
