// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of squared differences of query and key as a matrix product and a number for each query and key: which they are,
// and what is multiplied.
#pragma once

#include <fovea/expr/functions.hpp>
#include <fovea/expr/separate.hpp>
#include <fovea/plan/factor.hpp>
#include <fovea/spec/feature_tables.hpp>

namespace fovea::FOVEA_SET::plan {

// --- a product amid others: the score is a sum of squares, or that with something added ---

namespace detail {
using fovea::detail::multiply;

/// square(a - b) or square(a + b), with a of the query and b of the key or the other way round.
template <class E>
inline constexpr bool is_square_of_both = false;
template <class Operation, class A, class B>
    requires(std::is_same_v<Operation, operations::minus> || std::is_same_v<Operation, operations::plus>)
inline constexpr bool is_square_of_both<node<operations::square, node<Operation, A, B>>> =
    (uses<A, q_t> && of_query_feature<A> && uses<B, k_t> && of_key_feature<B>)
    || (uses<A, k_t> && of_key_feature<A> && uses<B, q_t> && of_query_feature<B>);

/// True for what weighs a feature of all queries and keys of a head alike.
template <class E>
inline constexpr bool same_for_all_pairs = !uses<E, q_t, q_idx_t, k_t, kv_idx_t, edge_t, score_t>;

/// Such a square with such a weight.
template <class E>
inline constexpr bool is_weighted_square = is_square_of_both<E>;
template <class A, class B>
inline constexpr bool is_weighted_square<node<operations::times, A, B>> =
    (is_weighted_square<A> && same_for_all_pairs<B>) || (same_for_all_pairs<A> && is_weighted_square<B>);
template <class A, class B>
inline constexpr bool is_weighted_square<node<operations::divided, A, B>> =
    is_weighted_square<A> && same_for_all_pairs<B>;
template <class A>
inline constexpr bool is_weighted_square<node<operations::negate, A>> = is_weighted_square<A>;

/// True where a weight is a number, not one for each feature.
template <class E>
inline constexpr bool same_for_all_features = free_axes_of<E> == 0;
template <class Operation, class... Children>
    requires(!std::is_same_v<Operation, at_operation>)
inline constexpr bool same_for_all_features<node<Operation, Children...>> = (same_for_all_features<Children> && ...);

/// sum(weight * square) in parts. A sum of squares alone is not less than 0, however it is rounded.
template <class E, class Weight, class Over>
constexpr auto square_in_parts(E const& square_of_both, Weight const& weight, Over const& over) {
    auto const& both = get<0>(square_of_both);
    auto const& a = get<0>(both);
    auto const& b = get<1>(both);
    auto const squares = sum_over(multiply(weight, a * a), over) + sum_over(multiply(weight, b * b), over);
    auto const product = 2 * sum_over(multiply(weight, a) * b, over);
    auto const all = make_node<typename std::remove_cvref_t<decltype(both)>::operation>(squares, product);
    if constexpr (std::is_same_v<Weight, unit>) return relu(all);
    else return all;
}

/// sum(weight * e) for a weighted square, over some features.
template <class E, class Over, class Weight = unit>
constexpr auto expanded_square(E const& e, Over const& over, Weight const& weight = {}) {
    if constexpr (is_square_of_both<E>) {
        return square_in_parts(e, weight, over);
    } else if constexpr (is_node_of<operations::negate, E>) {
        return -expanded_square(get<0>(e), over, weight);
    } else if constexpr (is_node_of<operations::divided, E>) {
        if constexpr (same_for_all_features<std::remove_cvref_t<decltype(get<1>(e))>>)
            return expanded_square(get<0>(e), over, weight) / get<1>(e);
        else return expanded_square(get<0>(e), over, multiply(literal<double>{1} / get<1>(e), weight));
    } else if constexpr (is_weighted_square<std::remove_cvref_t<decltype(get<0>(e))>>) {
        if constexpr (same_for_all_features<std::remove_cvref_t<decltype(get<1>(e))>>)
            return expanded_square(get<0>(e), over, weight) * get<1>(e);
        else return expanded_square(get<0>(e), over, multiply(get<1>(e), weight));
    } else {
        if constexpr (same_for_all_features<std::remove_cvref_t<decltype(get<0>(e))>>)
            return get<0>(e) * expanded_square(get<1>(e), over, weight);
        else return expanded_square(get<1>(e), over, multiply(get<0>(e), weight));
    }
}

template <class E>
inline constexpr bool is_sum_of_squares = false;
template <class Body, class... Range>
inline constexpr bool is_sum_of_squares<node<operations::sum, Body, Range...>> = is_weighted_square<Body>;
}  // namespace detail

/// expand_squares: sum(w (a - b)^2) = sum(w a^2) + sum(w b^2) - 2 sum(w a b), where a is of the query, b of the
/// key, and the weights w, a table of features, say, are the same for both. The rounding is that of products of a and
/// b, so this is done only where the score is the sum times a factor, or with something added. A logarithm, a quotient
/// or a cutoff would show small sums that large features have rounded away: there the sum stays a part of its own,
/// whose product is about a centre, and which is summed where it is small (driver/dense/pair_sums.hpp).
template <class E>
constexpr auto expand_squares(E const& e) {
    if constexpr (detail::is_sum_of_squares<E>) {
        return detail::expanded_square(get<0>(e), features_of_sum(e));
    } else if constexpr (is_node_of<operations::negate, E>) {
        return -expand_squares(get<0>(e));
    } else if constexpr (is_node_of<operations::plus, E>) {
        return expand_squares(get<0>(e)) + expand_squares(get<1>(e));
    } else if constexpr (is_node_of<operations::minus, E>) {
        return expand_squares(get<0>(e)) - expand_squares(get<1>(e));
    } else if constexpr (is_node_of<operations::times, E>) {
        if constexpr (same_for_all_keys<std::remove_cvref_t<decltype(get<1>(e))>>)
            return expand_squares(get<0>(e)) * get<1>(e);
        else if constexpr (same_for_all_keys<std::remove_cvref_t<decltype(get<0>(e))>>)
            return get<0>(e) * expand_squares(get<1>(e));
        else return e;
    } else if constexpr (is_node_of<operations::divided, E>) {
        if constexpr (same_for_all_keys<std::remove_cvref_t<decltype(get<1>(e))>>)
            return expand_squares(get<0>(e)) / get<1>(e);
        else return e;
    } else {
        return e;
    }
}

// --- a sum of squares inside functions, in terms of its factors ---

/// The weight of a square that is summed: the same for all queries and keys of the heads that share keys.
template <class E>
inline constexpr bool weighs_squares = !uses<E, q_t, q_idx_t, k_t, kv_idx_t, edge_t, head_t, score_t>;
template <std::size_t Position>
inline constexpr bool weighs_squares<query_factor<Position>> = false;
template <std::size_t Position>
inline constexpr bool weighs_squares<key_factor<Position>> = false;
template <class Operation, class... Children>
inline constexpr bool weighs_squares<node<Operation, Children...>> = (weighs_squares<Children> && ...);

/// Of a square of the sum or the difference of a factor of the query and one of the key, with weights inside and
/// outside: 1 for a sum, -1 for a difference; 0 for all else.
template <class Body, bool InSquare = false>
inline constexpr int sign_of_square = 0;
template <class E>
inline constexpr int sign_of_square<node<operations::square, E>, false> = sign_of_square<E, true>;
template <>
inline constexpr int sign_of_square<node<operations::plus, query_factor<0>, key_factor<0>>, true> = 1;
template <>
inline constexpr int sign_of_square<node<operations::plus, key_factor<0>, query_factor<0>>, true> = 1;
template <>
inline constexpr int sign_of_square<node<operations::minus, query_factor<0>, key_factor<0>>, true> = -1;
template <>
inline constexpr int sign_of_square<node<operations::minus, key_factor<0>, query_factor<0>>, true> = -1;
template <class A, class B, bool InSquare>
inline constexpr int sign_of_square<node<operations::times, A, B>, InSquare> =
    weighs_squares<A>   ? sign_of_square<B, InSquare>
    : weighs_squares<B> ? sign_of_square<A, InSquare>
                        : 0;
template <class A, class B, bool InSquare>
inline constexpr int sign_of_square<node<operations::divided, A, B>, InSquare> =
    weighs_squares<B> ? sign_of_square<A, InSquare> : 0;

/// All weights of such a square.
template <class E>
constexpr auto weight_of_square(E const& e) {
    if constexpr (is_node_of<operations::square, E>) {
        return square(weight_of_square(get<0>(e)));
    } else if constexpr (is_node_of<operations::divided, E>) {
        return weight_of_square(get<0>(e)) / get<1>(e);
    } else if constexpr (is_node_of<operations::times, E>) {
        if constexpr (weighs_squares<std::remove_cvref_t<decltype(get<0>(e))>>)
            return get<0>(e) * weight_of_square(get<1>(e));
        else return weight_of_square(get<0>(e)) * get<1>(e);
    } else {
        return literal<double>{1};
    }
}

}  // namespace fovea::FOVEA_SET::plan
