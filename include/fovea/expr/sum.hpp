// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over features, all of them or some.
#pragma once

#include <fovea/core/as_view.hpp>
#include <fovea/core/diagnose.hpp>
#include <fovea/expr/analyze.hpp>
#include <fovea/expr/features.hpp>
#include <fovea/expr/literal.hpp>
#include <fovea/expr/operators.hpp>

namespace fovea::FOVEA_SET {

namespace detail {
template <class V>
concept of_the_library = is_view<V> || has_view<V const>;

/// A view or a tensor beside one, or beside an expression; a container of any kind beside an expression.
template <class A, class B>
concept hides_placeholder =
    (of_the_library<A> && (operand<B> || viewable<B const>)) || (of_the_library<B> && (operand<A> || viewable<A const>))
    || (expression<A> && viewable<B const>) || (viewable<A const> && expression<B>);

/// The sentence, and a number in place of an expression.
template <class... Operands>
constexpr literal<double> no_placeholder() {
    static_assert(never<Operands...>,
                  "fovea: this is a table, not an expression: write param(table), or rename the variable q or k that "
                  "hides the placeholder");
    return {};
}
}  // namespace detail

template <class A, class B>
    requires detail::hides_placeholder<A, B>
constexpr auto operator+(A const&, B const&) {
    return detail::no_placeholder<A, B>();
}
template <class A, class B>
    requires detail::hides_placeholder<A, B>
constexpr auto operator-(A const&, B const&) {
    return detail::no_placeholder<A, B>();
}
template <class A, class B>
    requires detail::hides_placeholder<A, B>
constexpr auto operator*(A const&, B const&) {
    return detail::no_placeholder<A, B>();
}
template <class A, class B>
    requires detail::hides_placeholder<A, B>
constexpr auto operator/(A const&, B const&) {
    return detail::no_placeholder<A, B>();
}

template <detail::of_the_library A>
constexpr auto operator-(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto abs(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto square(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto exp(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto log(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto tanh(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto erf(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto sqrt(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto rsqrt(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto sigmoid(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto silu(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto gelu(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto relu(A const&) {
    return detail::no_placeholder<A>();
}
template <detail::of_the_library A>
constexpr auto elu(A const&) {
    return detail::no_placeholder<A>();
}

/// sum: adds an expression of q and k (and of parameters) over the features.
template <class Body>
    requires(expression<Body> || viewable<Body const> || detail::like_expression_of_matrices<Body>)
constexpr auto sum(Body const& body) {
    if constexpr (expression<Body>) {
        constexpr bool of_features = !has_sum<Body> && !uses<Body, score_t, weight_t, out_t>;
        static_assert(of_features,
                      "fovea: sum() adds over the features of q and k: it contains no other sum, and no score");
        if constexpr (of_features) return detail::build<operations::sum>(body);
        else return literal<double>{};
    } else {
        return detail::no_placeholder<Body>();
    }
}

/// sum: adds an expression of q and k over some of the features.
template <class Body, class Range>
    requires(expression<Body> || viewable<Body const> || detail::like_expression_of_matrices<Body>)
constexpr auto sum(Body const& body, [[maybe_unused]] Range const& range) {
    using all = decltype(sum(body));
    if constexpr (std::is_same_v<Range, feature_range> && has_sum<all>) {
        constexpr bool of_features = uses<Body, q_t, k_t>;
        static_assert(of_features, "fovea: features(first, end) chooses features of q and k, and this sum has neither");
        if constexpr (of_features) return make_node<operations::sum>(body, range);
        else return literal<double>{};
    } else {
        constexpr bool is_range = std::is_same_v<Range, feature_range> || is_ill_formed<Range> || !has_sum<all>;
        static_assert(is_range,
                      "fovea: the second argument of sum() is a range of features: sum(q * k, features(0, 64))");
        return sum(body);
    }
}

}  // namespace fovea::FOVEA_SET
