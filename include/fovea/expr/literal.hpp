// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/errors.hpp>
#include <fovea/core/ieee.hpp>
#include <fovea/core/index.hpp>
#include <fovea/expr/node.hpp>

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

/// literal: a number inside an expression. Integers stay integers, so that positions divide like positions.
template <class T>
struct literal {
    using expression_tag = void;
    T value{};
};

template <class T>
inline constexpr bool is_stateless<literal<T>> = false;

template <class E>
inline constexpr bool is_literal = false;
template <class T>
inline constexpr bool is_literal<literal<T>> = true;

/// always: true, which is known before any call.
struct always_t {
    using expression_tag = void;
    static constexpr bool value = true;
};
inline constexpr always_t always{};
template <>
inline constexpr bool is_literal<always_t> = true;

/// An operand: an expression or a number.
template <class T>
concept operand = expression<T> || std::is_arithmetic_v<std::remove_cvref_t<T>>;

/// A number becomes a literal, an expression stays what it is.
/// Errors: shape_error for an unsigned number that no integer of the language can be.
template <operand T>
constexpr auto as_expression(T const& x) {
    if constexpr (expression<T>) return x;
    else if constexpr (std::same_as<T, bool>) return literal<bool>{x};
    else if constexpr (std::integral<T>) {
        if constexpr (std::unsigned_integral<T> && sizeof(T) >= sizeof(index_t))
            if (!std::in_range<index_t>(x))
                raise_error(shape_error("an expression holds the unsigned integer ", x,
                                        ": integers in expressions are at most 2^63 - 1"));
        return literal<index_t>{static_cast<index_t>(x)};
    } else return literal<T>{x};
}

namespace detail {
/// The sentence of a word that takes one number or expression, and is given a table or another number of arguments.
template <class... Arguments>
constexpr ill_formed refuse_all_but_operand() {
    constexpr bool table = sizeof...(Arguments) == 1;
    static_assert(!table, "fovea: this word takes a number or an expression: index a table, as param(t)[head]");
    if constexpr (table) return {};
    else return refuse_arguments<Arguments...>();
}

/// Errors: std::invalid_argument for a number that does not fit. What other expressions come to is known in a call
/// only.
template <class T, class Fits>
constexpr void require_number(char const* named, T const& x, char const* needed, Fits const& fits) {
    if constexpr (is_literal<T>) require_number(named, x.value, needed, fits);
    else if constexpr (std::is_arithmetic_v<T>)
        if (auto const number = static_cast<double>(x); !fits(number)) refuse_number(named, number, needed);
}
template <class T>
constexpr void require_above_0(char const* named, T const& x) {
    require_number(named, x, "above 0", [](double number) { return number > 0; });
}
template <class T>
constexpr void require_finite_above_0(char const* named, T const& x) {
    require_number(named, x, "above 0 and finite",
                   [](double number) { return number > 0 && number < ieee::infinity<double>; });
}
template <class T>
constexpr void require_0_or_more(char const* named, T const& x) {
    require_number(named, x, "0 or more", [](double number) { return number >= 0; });
}
template <class T>
constexpr void require_1_or_more(char const* named, T const& x) {
    require_number(named, x, "1 or more", [](double number) { return number >= 1; });
}
}  // namespace detail

template <operand T>
using expression_of = decltype(as_expression(std::declval<T const&>()));

}  // namespace fovea::FOVEA_SET
