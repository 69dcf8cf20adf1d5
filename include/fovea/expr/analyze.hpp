// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compile-time questions about an expression; the answers decide which kernel runs.
#pragma once

#include <fovea/expr/function_operations.hpp>
#include <fovea/expr/operators.hpp>

#include <cstdint>
#include <tuple>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// True where the expression mentions any of the placeholders, also inside sums and indices.
template <class E, class... Placeholder>
inline constexpr bool uses = (std::is_same_v<E, Placeholder> || ...);
template <class Operation, class... Children, class... Placeholder>
inline constexpr bool uses<node<Operation, Children...>, Placeholder...> = (uses<Children, Placeholder...> || ...);

/// True where the expression mentions any of the placeholders outside sums.
template <class E, class... Placeholder>
inline constexpr bool uses_outside_sum = (std::is_same_v<E, Placeholder> || ...);
template <class Operation, class... Children, class... Placeholder>
inline constexpr bool uses_outside_sum<node<Operation, Children...>, Placeholder...> =
    !std::is_same_v<Operation, operations::sum> && (uses_outside_sum<Children, Placeholder...> || ...);

/// True where the expression contains a sum over features.
template <class E>
inline constexpr bool has_sum = false;
template <class Operation, class... Children>
inline constexpr bool has_sum<node<Operation, Children...>> = (has_sum<Children> || ...);
template <class Body, class... Range>
inline constexpr bool has_sum<node<operations::sum, Body, Range...>> = true;

/// True where the expression reads a table, or a number that is a parameter.
template <class E>
inline constexpr bool reads_a_table = false;
template <class T, int Rank>
inline constexpr bool reads_a_table<parameter<T, Rank>> = true;
template <class Operation, class... Children>
inline constexpr bool reads_a_table<node<Operation, Children...>> = (reads_a_table<Children> || ...);
template <class T, int Rank, class... Indices>
inline constexpr bool reads_a_table<node<at_operation, parameter<T, Rank>, Indices...>> = true;

/// True where the expression reads a table of which the query chooses a row and the key an element: those of
/// neighbouring queries lie a row apart.
template <class E>
inline constexpr bool reads_a_row_of_query = false;
template <class Operation, class... Children>
inline constexpr bool reads_a_row_of_query<node<Operation, Children...>> = (reads_a_row_of_query<Children> || ...);
template <class T, int Rank, class First, class... Indices>
inline constexpr bool reads_a_row_of_query<node<at_operation, parameter<T, Rank>, First, Indices...>> = [] {
    using last = std::tuple_element_t<sizeof...(Indices), std::tuple<First, Indices...>>;
    constexpr int by_query = (int{uses<First, q_idx_t>} + ... + int{uses<Indices, q_idx_t>});
    return uses<last, kv_idx_t> && by_query > int{uses<last, q_idx_t>};
}();

/// True where the value is the same for all keys that one query sees: no key, no key position, no score.
template <class E>
inline constexpr bool same_for_all_keys = !uses<E, k_t, kv_idx_t, edge_t, score_t>;

/// True where it is one number for a query, which reads no feature either.
template <class E>
inline constexpr bool is_number_of_row = same_for_all_keys<E> && !uses<E, q_t>;

/// True for the position of a query or of a key.
template <class E>
inline constexpr bool is_position = std::is_same_v<E, q_idx_t> || std::is_same_v<E, kv_idx_t>;

/// True where an expression is an integer: positions, lengths, tables of integers, and what is computed of them. What a
/// table has for each feature is real.
template <class E>
inline constexpr bool is_whole_number = std::is_same_v<E, literal<index_t>>;
template <fixed_string Name>
inline constexpr bool is_whole_number<placeholder<Name>> =
    !std::is_same_v<placeholder<Name>, q_t> && !std::is_same_v<placeholder<Name>, k_t>
    && !std::is_same_v<placeholder<Name>, score_t> && !std::is_same_v<placeholder<Name>, weight_t>
    && !std::is_same_v<placeholder<Name>, out_t>;
template <class T, int Rank, class... Indices>
inline constexpr bool is_whole_number<node<at_operation, parameter<T, Rank>, Indices...>> =
    !detail::is_real_number<T> && !detail::is_truth<T> && sizeof...(Indices) == Rank;
template <class Condition, class A, class B>
inline constexpr bool is_whole_number<node<operations::select, Condition, A, B>> =
    is_whole_number<A> && is_whole_number<B>;
template <class Operation, class... Operands>
    requires(std::is_same_v<Operation, operations::plus> || std::is_same_v<Operation, operations::minus>
             || std::is_same_v<Operation, operations::times> || std::is_same_v<Operation, operations::divided>
             || std::is_same_v<Operation, operations::modulo> || std::is_same_v<Operation, operations::floor_div>
             || std::is_same_v<Operation, operations::min> || std::is_same_v<Operation, operations::max>
             || std::is_same_v<Operation, operations::negate> || std::is_same_v<Operation, operations::abs>
             || std::is_same_v<Operation, operations::square> || std::is_same_v<Operation, operations::relu>)
inline constexpr bool is_whole_number<node<Operation, Operands...>> = (is_whole_number<Operands> && ...);

/// True where an expression chooses between integers.
template <class E>
inline constexpr bool chooses_integer = false;
template <class Operation, class... Children>
inline constexpr bool chooses_integer<node<Operation, Children...>> =
    (std::is_same_v<Operation, operations::select> && is_whole_number<node<Operation, Children...>>)
    || (chooses_integer<Children> || ...);

/// True where some integer of an expression may need more than 32 bits in a lane, as far as types and names tell:
/// positions, their differences and elements of fewer bits do not. What values it comes to is for integer_range.hpp.
template <class E>
inline constexpr bool may_exceed_32_bits = false;
template <class T, int Rank, class... Indices>
inline constexpr bool may_exceed_32_bits<node<at_operation, parameter<T, Rank>, Indices...>> =
    (std::is_integral_v<T> && detail::bits_of_element<T> >= 32 && !std::is_same_v<T, std::int32_t>)
    || (may_exceed_32_bits<Indices> || ...);
template <class Operation, class... Children>
inline constexpr bool may_exceed_32_bits<node<Operation, Children...>> =
    (is_whole_number<node<Operation, Children...>> || (may_exceed_32_bits<Children> || ...));
template <class A, class B>
inline constexpr bool may_exceed_32_bits<node<operations::minus, A, B>> =
    (is_whole_number<A> && is_whole_number<B> && !(is_position<A> && is_position<B>))
    || may_exceed_32_bits<A> || may_exceed_32_bits<B>;

/// True where an integer is computed from an integer quotient written `/`: what stands in conditions and in indices of
/// tables does not count.
template <class E>
inline constexpr bool has_whole_quotient = false;
template <class Operation, class... Children>
inline constexpr bool has_whole_quotient<node<Operation, Children...>> =
    std::is_same_v<Operation, operations::divided>
    || (!std::is_same_v<Operation, operations::floor_div> && (has_whole_quotient<Children> || ...));
template <class Condition, class A, class B>
inline constexpr bool has_whole_quotient<node<operations::select, Condition, A, B>> =
    has_whole_quotient<A> || has_whole_quotient<B>;
template <class T, int Rank, class... Indices>
inline constexpr bool has_whole_quotient<node<at_operation, parameter<T, Rank>, Indices...>> = false;

/// True where the quotient of two integers becomes a real number somewhere, other than by real(): in an expression
/// whose own value is real (`Real`), a condition, or an index.
template <class E, bool Real>
inline constexpr bool makes_quotient_real = Real && is_whole_number<E> && has_whole_quotient<E>;
template <class Operation, class... Children, bool Real>
inline constexpr bool makes_quotient_real<node<Operation, Children...>, Real> = [] {
    using E = node<Operation, Children...>;
    constexpr bool explicit_real = std::is_same_v<Operation, operations::real>;
    if constexpr (is_whole_number<E>) {
        return (Real && has_whole_quotient<E>) || (makes_quotient_real<Children, false> || ...);
    } else if constexpr (std::is_same_v<Operation, operations::random>) {
        return false;
    } else if constexpr (is_condition<E>) {  // integers that are compared with integers stay what they are
        constexpr bool numbers = !(is_condition<Children> && ...);
        return (makes_quotient_real < Children, numbers && !(is_whole_number<Children> && ...) > || ...);
    } else {
        return (makes_quotient_real < Children, !is_condition<Children> && !explicit_real > || ...);
    }
}();
template <class T, int Rank, class... Indices, bool Real>
inline constexpr bool makes_quotient_real<node<at_operation, parameter<T, Rank>, Indices...>, Real> =
    (makes_quotient_real<Indices, false> || ...);

namespace detail {
/// The sentence for an integer quotient whose value becomes a real number.
template <class E, bool Real>
constexpr bool keeps_quotients_whole() {
    constexpr bool lost = makes_quotient_real<E, Real>;
    static_assert(!lost,
                  "fovea: this integer quotient, which `/` rounds down, would become a real: write real(x) / y, or "
                  "floor_div(x, y) if rounding is meant");
    return !lost;
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
