// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Factors the body of a pairwise sum: what depends on the query alone or on the key alone is computed once per feature
// of each, and tanh of a sum becomes a product of exponentials, so that no transcendental function is left in the loop
// over pairs.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/expr/analyze.hpp>
#include <fovea/expr/functions.hpp>
#include <fovea/plan/table_products.hpp>

#include <boost/hana/append.hpp>
#include <boost/hana/size.hpp>
#include <boost/hana/tuple.hpp>

namespace fovea::FOVEA_SET {

/// tanh(a + b) from exp(2 a) and exp(2 b): 1 - 2 / (1 + exp(2 a) exp(2 b)).
///
/// Absolute error of a few epsilon while the exponentials are normal numbers; the relative error near a + b = 0 is not
/// bounded. A product that overflows gives 1, one that underflows -1.
struct tanh_of_product {
    static constexpr std::string_view name = "tanh_of_product";
    FOVEA_INLINE static constexpr auto apply(auto const& a, auto const& b) {
        decltype(a * b) const largest(1e18);  // gives 1, as all above it; the reciprocal of inf may be NaN
        return 1 - 2 * reciprocal(1 + min(a * b, largest));
    }
};

/// 1 / (a + b)
struct reciprocal_of_sum {
    static constexpr std::string_view name = "reciprocal_of_sum";
    FOVEA_INLINE static constexpr auto apply(auto const& a, auto const& b) { return reciprocal(a + b); }
};

}  // namespace fovea::FOVEA_SET

namespace fovea::FOVEA_SET::plan {

namespace hana = boost::hana;

/// The place of a factor: the value of the query, or of the keys, at the feature that is summed.
template <std::size_t Position>
struct query_factor {
    using expression_tag = void;
};
template <std::size_t Position>
struct key_factor {
    using expression_tag = void;
};

/// The body in terms of its factors.
template <class Body, class Queries, class Keys, bool Exponentials>
struct factored {
    static constexpr bool exponentials = Exponentials;  // factors must stay within the range of exp
    Body body{};
    Queries queries{};
    Keys keys{};
};

namespace detail {
template <class E>
inline constexpr bool of_query_feature = has_query_features<E> && !uses<E, k_t, kv_idx_t, edge_t>;
template <class E>
inline constexpr bool of_key_feature = has_key_features<E> && !uses<E, q_t, q_idx_t, edge_t, head_t>;

/// tanh(a + b) with a of the query and b of the key, in this order or the other.
template <class E>
inline constexpr bool is_tanh_of_sum = false;
template <class A, class B>
inline constexpr bool is_tanh_of_sum<node<operations::tanh, node<operations::plus, A, B>>> =
    (of_query_feature<A> && of_key_feature<B>) || (of_key_feature<A> && of_query_feature<B>);

/// c tanh(a + b), where c is the same for all keys.
template <class E>
inline constexpr bool is_scaled_tanh = is_tanh_of_sum<E>;
template <class A, class B>
inline constexpr bool is_scaled_tanh<node<operations::times, A, B>> =
    (is_scaled_tanh<A> && same_for_all_keys<B>) || (same_for_all_keys<A> && is_scaled_tanh<B>);
template <class A, class B>
inline constexpr bool is_scaled_tanh<node<operations::divided, A, B>> = is_scaled_tanh<A> && same_for_all_keys<B>;
template <class A>
inline constexpr bool is_scaled_tanh<node<operations::negate, A>> = is_scaled_tanh<A>;

/// An expression with another in place of its tanh.
template <class E, class F>
constexpr auto in_place_of_tanh(E const& e, F const& f) {
    if constexpr (is_tanh_of_sum<E>) return f(e);
    else if constexpr (E::arity == 1) return make_node<typename E::operation>(in_place_of_tanh(get<0>(e), f));
    else if constexpr (is_scaled_tanh<std::remove_cvref_t<decltype(get<0>(e))>>)
        return make_node<typename E::operation>(in_place_of_tanh(get<0>(e), f), get<1>(e));
    else return make_node<typename E::operation>(get<0>(e), in_place_of_tanh(get<1>(e), f));
}

/// f(tanh(a + b)) for the one in an expression.
template <class E, class F>
constexpr auto with_tanh(E const& e, F const& f) {
    if constexpr (is_tanh_of_sum<E>) return f(e);
    else if constexpr (is_scaled_tanh<std::remove_cvref_t<decltype(get<0>(e))>>) return with_tanh(get<0>(e), f);
    else return with_tanh(get<1>(e), f);
}

/// f(a, b) for the tanh(a + b) in an expression, a of the query and b of the key.
template <class E, class F>
constexpr auto with_sides(E const& tanh_of_sum, F const& f) {
    auto const& both = get<0>(tanh_of_sum);
    if constexpr (of_query_feature<std::remove_cvref_t<decltype(get<0>(both))>>) return f(get<0>(both), get<1>(both));
    else return f(get<1>(both), get<0>(both));
}

template <bool Exponentials, class Body, class Queries, class Keys>
constexpr factored<Body, Queries, Keys, Exponentials> make_factored(Body const& b, Queries const& q, Keys const& k) {
    return {b, q, k};
}

template <class Tuple>
inline constexpr std::size_t number_of = decltype(hana::size(std::declval<Tuple>()))::value;
}  // namespace detail

/// factor: an expression inside sum() in terms of factors, appended to those already found.
template <bool Exponentials = false, class E, class Queries = hana::tuple<>, class Keys = hana::tuple<>>
constexpr auto factor(E const& e, Queries const& queries = {}, Keys const& keys = {}) {
    using namespace detail;
    if constexpr (of_query_feature<E>) {
        return make_factored<Exponentials>(query_factor<number_of<Queries>>{}, hana::append(queries, e), keys);
    } else if constexpr (of_key_feature<E>) {
        return make_factored<Exponentials>(key_factor<number_of<Keys>>{}, queries, hana::append(keys, e));
    } else if constexpr (is_tanh_of_sum<E>) {
        return with_sides(e, [&](auto const& of_query, auto const& of_key) {
            return make_factored<true>(
                make_node<tanh_of_product>(query_factor<number_of<Queries>>{}, key_factor<number_of<Keys>>{}),
                hana::append(queries, exp(2 * of_query)), hana::append(keys, exp(2 * of_key)));
        });
    } else if constexpr (!is_node<E> || is_node_of<at_operation, E>) {
        return make_factored<Exponentials>(e, queries, keys);
    } else if constexpr (E::arity == 1) {
        auto const a = factor<Exponentials>(get<0>(e), queries, keys);
        return make_factored<a.exponentials>(make_node<typename E::operation>(a.body), a.queries, a.keys);
    } else if constexpr (E::arity == 2) {
        auto const a = factor<Exponentials>(get<0>(e), queries, keys);
        auto const b = factor<a.exponentials>(get<1>(e), a.queries, a.keys);
        return make_factored<b.exponentials>(make_node<typename E::operation>(a.body, b.body), b.queries, b.keys);
    } else {
        auto const a = factor<Exponentials>(get<0>(e), queries, keys);
        auto const b = factor<a.exponentials>(get<1>(e), a.queries, a.keys);
        auto const c = factor<b.exponentials>(get<2>(e), b.queries, b.keys);
        return make_factored<c.exponentials>(make_node<typename E::operation>(a.body, b.body, c.body), c.queries,
                                             c.keys);
    }
}

/// The same, but a body that reads rows of tables for pairs is left as it is: its features are in lanes.
template <class E>
constexpr auto factor_unless_read_by_feature(E const& e) {
    if constexpr (reads_rows_of_pairs<E>) return detail::make_factored<false>(e, hana::tuple<>{}, hana::tuple<>{});
    else return factor(e);
}

/// c tanh(a + b) as a sum of what all keys share and what is left for the loop over pairs: c, and c (tanh(a + b) - 1),
/// which is a quotient of factors of one side, -2 c exp(-2 a) / (exp(-2 a) + exp(2 b)), right to 4 epsilon |c|.
template <class E>
constexpr auto shared_part(E const& e) {
    return detail::in_place_of_tanh(e, [](auto const&) { return literal<index_t>{1}; });
}
template <class E>
constexpr auto rest_of_pair(E const& e) {
    return detail::in_place_of_tanh(e, [](auto const& tanh_of_sum) { return tanh_of_sum - 1; });
}
template <class E>
constexpr auto factor_rest(E const& e) {
    return detail::with_tanh(e, [&](auto const& tanh_of_sum) {
        return detail::with_sides(tanh_of_sum, [&](auto const& of_query, auto const& of_key) {
            auto const vanishing = exp(-2 * of_query);
            auto const body = query_factor<0>{} * make_node<reciprocal_of_sum>(query_factor<1>{}, key_factor<0>{});
            auto const scale = detail::in_place_of_tanh(e, [&](auto const&) { return -2 * vanishing; });
            return detail::make_factored<true>(body, hana::make_tuple(scale, vanishing),
                                               hana::make_tuple(exp(2 * of_key)));
        });
    });
}

}  // namespace fovea::FOVEA_SET::plan
