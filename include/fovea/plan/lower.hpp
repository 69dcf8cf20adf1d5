// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decomposes a score: terms that are computed once per query or once per key, matrix products, sums over features for
// each pair, and the pointwise rest that is fused on the score tile.
#pragma once

#include <fovea/expr/analyze.hpp>
#include <fovea/expr/evaluate.hpp>
#include <fovea/expr/separate.hpp>
#include <fovea/plan/factor.hpp>
#include <fovea/plan/score_parts.hpp>
#include <fovea/plan/squares.hpp>
#include <fovea/plan/table_products.hpp>

#include <boost/hana/append.hpp>
#include <boost/hana/size.hpp>
#include <boost/hana/tuple.hpp>

namespace fovea::FOVEA_SET::plan {

namespace detail {
using fovea::detail::is_scaled_product;
using fovea::detail::of_key_side;
using fovea::detail::of_query_side;
using fovea::detail::scaled_product;

// --- terms of one side ---

/// True where an expression reads a table of reals or calls a sum: it is evaluated once, outside the loop over pairs.
template <class E>
inline constexpr bool worth_hoisting = false;
template <class Operation, class... Children>
inline constexpr bool worth_hoisting<node<Operation, Children...>> = (worth_hoisting<Children> || ...);
template <class T, int Rank, class... Indices>
inline constexpr bool worth_hoisting<node<at_operation, parameter<T, Rank>, Indices...>> =
    fovea::detail::is_real_number<T> || (has_sum<Indices> || ...);
template <class Body, class... Range>
inline constexpr bool worth_hoisting<node<operations::sum, Body, Range...>> = true;

/// A part is a real number: integers and conditions stay in the rest, and what they are made of is taken out of them.
template <class E>
inline constexpr bool is_real = !is_condition<E> && !is_whole_number<E>;
template <class E>
inline constexpr bool is_row_term = of_query_side<E> && worth_hoisting<E> && is_real<E>;
template <class E>
inline constexpr bool is_key_term = has_sum<E> && !uses<E, q_t, q_idx_t, edge_t, score_t> && is_real<E>;

template <class E>
inline constexpr bool is_sum_of_tanh = false;
template <class Body, class... Range>
inline constexpr bool is_sum_of_tanh<node<operations::sum, Body, Range...>> = is_scaled_tanh<Body>;

// --- collecting ---

/// True where two parts of this type are the same part: nothing in them is known only at run time.
template <class Part>
inline constexpr bool always_equal = false;
template <class Q, class K, class Scale, class Over>
inline constexpr bool always_equal<product_term<Q, K, Scale, Over>> =
    is_stateless<Q> && is_stateless<K> && is_stateless<Scale> && is_stateless<Over>;
template <class Body, class Factored, class Over>
inline constexpr bool always_equal<pairwise_term<Body, Factored, Over>> = is_stateless<Body> && is_stateless<Over>;
template <class E>
inline constexpr bool always_equal<single_term<E>> = is_stateless<E>;

/// The position of an equal part, or the size of the tuple.
template <class Part, class... Existing>
constexpr std::size_t position_of(hana::tuple<Existing...> const&) {
    std::size_t position = 0;
    bool found = false;
    ((found = found || (std::is_same_v<Part, Existing> && always_equal<Part>), position += found ? 0 : 1), ...);
    return position;
}

template <part Kind, class Parts, class Part>
constexpr auto collect(Parts const& p, Part const& added) {
    auto const with = [&](auto const& tuple, auto rebuild) {
        using tuple_type = std::remove_cvref_t<decltype(tuple)>;
        constexpr std::size_t size = decltype(hana::size(tuple))::value;
        constexpr std::size_t position = position_of<Part>(tuple_type{});
        if constexpr (position < size) {
            return lowered<reference<Kind, position>, Parts>{{}, p};
        } else {
            auto const all = rebuild(hana::append(tuple, added));
            return lowered<reference<Kind, size>, std::remove_const_t<decltype(all)>>{{}, all};
        }
    };
    auto const make = [](auto const& a, auto const& b, auto const& c, auto const& d) {
        return parts<std::remove_cvref_t<decltype(a)>, std::remove_cvref_t<decltype(b)>,
                     std::remove_cvref_t<decltype(c)>, std::remove_cvref_t<decltype(d)>>{a, b, c, d};
    };
    if constexpr (Kind == part::product)
        return with(p.products, [&](auto const& t) { return make(t, p.pairs, p.rows, p.keys); });
    else if constexpr (Kind == part::pairwise)
        return with(p.pairs, [&](auto const& t) { return make(p.products, t, p.rows, p.keys); });
    else if constexpr (Kind == part::row_term)
        return with(p.rows, [&](auto const& t) { return make(p.products, p.pairs, t, p.keys); });
    else return with(p.keys, [&](auto const& t) { return make(p.products, p.pairs, p.rows, t); });
}
}  // namespace detail

template <class E, class Parts = no_parts>
constexpr auto lower(E const& e, Parts const& found = {});

namespace detail {
/// Lowers the indices of a table from number I on; `table` has those before.
template <std::size_t I, class E, class At, class Parts>
constexpr auto lower_indices(E const& e, At const& table, Parts const& found) {
    if constexpr (I == E::arity) {
        return lowered<At, Parts>{table, found};
    } else {
        auto const a = lower(get<I>(e), found);
        return lower_indices<I + 1>(e, table[a.pointwise], a.parts);
    }
}
}  // namespace detail

/// lower: the pointwise rest of a score, and its parts appended to those already found.
template <class E, class Parts>
constexpr auto lower(E const& e, Parts const& found) {
    if constexpr (detail::is_scaled_product<E>()) {
        return detail::collect<part::product>(found, detail::scaled_product(e, unit{}));
    } else if constexpr (detail::is_row_term<E>) {
        return detail::collect<part::row_term>(found, single_term<E>{e});
    } else if constexpr (detail::is_key_term<E>) {
        return detail::collect<part::key_term>(found, single_term<E>{e});
    } else if constexpr (detail::is_sum_of_tanh<E>) {
        auto const& body = get<0>(e);
        auto const over = features_of_sum(e);
        auto const shared = sum_over(shared_part(body), over);
        auto const a =
            detail::collect<part::row_term>(found, single_term<std::remove_const_t<decltype(shared)>>{shared});
        auto const rest = rest_of_pair(body);
        auto const factors = factor_rest(body);
        using term = pairwise_term<std::remove_const_t<decltype(rest)>, std::remove_const_t<decltype(factors)>,
                                   std::remove_const_t<decltype(over)>>;
        auto const b = detail::collect<part::pairwise>(a.parts, term{rest, factors, over});
        auto const both = make_node<operations::plus>(a.pointwise, b.pointwise);
        return lowered<std::remove_const_t<decltype(both)>, decltype(b.parts)>{both, b.parts};
    } else if constexpr (is_node_of<operations::sum, E>) {
        using body = std::remove_cvref_t<decltype(get<0>(e))>;
        auto const factors = factor_unless_read_by_feature(get<0>(e));
        auto const over = features_of_sum(e);
        using term = pairwise_term<body, std::remove_const_t<decltype(factors)>, std::remove_const_t<decltype(over)>>;
        return detail::collect<part::pairwise>(found, term{get<0>(e), factors, over});
    } else if constexpr (is_node_of<at_operation, E> && has_sum<E>) {
        return detail::lower_indices<1>(e, get<0>(e), found);
    } else if constexpr (!detail::worth_hoisting<E> || is_node_of<at_operation, E>) {  // nothing in it to take out
        return lowered<E, Parts>{e, found};
    } else if constexpr (E::arity == 1) {
        auto const a = lower(get<0>(e), found);
        auto const rest = make_node<typename E::operation>(a.pointwise);
        return lowered<std::remove_const_t<decltype(rest)>, decltype(a.parts)>{rest, a.parts};
    } else if constexpr (E::arity == 2) {
        auto const a = lower(get<0>(e), found);
        auto const b = lower(get<1>(e), a.parts);
        auto const rest = make_node<typename E::operation>(a.pointwise, b.pointwise);
        return lowered<std::remove_const_t<decltype(rest)>, decltype(b.parts)>{rest, b.parts};
    } else {
        auto const a = lower(get<0>(e), found);
        auto const b = lower(get<1>(e), a.parts);
        auto const c = lower(get<2>(e), b.parts);
        auto const rest = make_node<typename E::operation>(a.pointwise, b.pointwise, c.pointwise);
        return lowered<std::remove_const_t<decltype(rest)>, decltype(c.parts)>{rest, c.parts};
    }
}

/// Lowers the score of a call whose mask lists keys, or does not. The features of listed keys are read once in any
/// case, so that expanding squares, or sums with rows of tables, would gain nothing.
template <bool ListsKeys, class E>
constexpr auto lower_for(E const& e) {
    if constexpr (ListsKeys) return lower(e);
    else return lower(expand_squares(split_sums_with_rows(e)));
}

}  // namespace fovea::FOVEA_SET::plan
