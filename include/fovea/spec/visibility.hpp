// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which pairs of a call take part: those that the mask lets through, without those that a tensor excludes which is
// added to the score.
#pragma once

#include <fovea/core/ieee.hpp>
#include <fovea/expr/analyze.hpp>
#include <fovea/spec/attention.hpp>

#include <concepts>
#include <type_traits>

namespace fovea::FOVEA_SET {

namespace detail {
/// True for an element of a tensor of numbers that a query chooses a row of and a key an element: of its last two
/// indices one is of the query's position, the other of the key's.
template <class E>
inline constexpr bool is_number_of_pair = false;
template <class T, int Rank, class... Indices>
    requires(!std::is_integral_v<T> && Rank == sizeof...(Indices) && Rank >= 2)
inline constexpr bool is_number_of_pair<node<at_operation, parameter<T, Rank>, Indices...>> = [] {
    using of_query = std::tuple_element_t<sizeof...(Indices) - 2, std::tuple<Indices...>>;
    using of_key = std::tuple_element_t<sizeof...(Indices) - 1, std::tuple<Indices...>>;
    return uses<of_query, q_idx_t> && !uses<of_query, kv_idx_t> && uses<of_key, kv_idx_t> && !uses<of_key, q_idx_t>;
}();

/// Both conditions, of which one may be none.
template <class A, class B>
constexpr auto both_of(A const& a, B const& b) {
    if constexpr (std::is_same_v<A, always_t>) return b;
    else if constexpr (std::is_same_v<B, always_t>) return a;
    else return a && b;
}

/// The pairs of which no such tensor that is added to an expression is -inf.
template <class E>
constexpr auto not_excluded_by(E const& e) {
    if constexpr (is_number_of_pair<E>) return e != literal<double>{-ieee::infinity<double>};
    else if constexpr (is_node_of<operations::plus, E>)
        return both_of(not_excluded_by(get<0>(e)), not_excluded_by(get<1>(e)));
    else if constexpr (is_node_of<operations::minus, E>) return not_excluded_by(get<0>(e));
    else return always;
}

/// Whether a specification has such tensors.
template <class A>
inline constexpr bool excludes_by_tensors =
    !enumerating_mask<decltype(A::mask)>
    && !std::is_same_v<decltype(not_excluded_by(std::declval<A const&>().score.expression())), always_t>;
}  // namespace detail

/// visible_pairs: the condition under which a pair of a dense call takes part. A tensor with a number for each pair
/// that is added to the score is part of it: where it is -inf the score is, and so its product is not computed.
template <attention_spec A>
constexpr auto visible_pairs(A const& a) {
    if constexpr (!detail::excludes_by_tensors<A>) return a.mask.predicate();
    else return detail::both_of(a.mask.predicate(), detail::not_excluded_by(a.score.expression()));
}

}  // namespace fovea::FOVEA_SET
