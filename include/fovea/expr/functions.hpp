// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of expressions: of one and two arguments, conditions, and sums over features.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/as_view.hpp>
#include <fovea/core/diagnose.hpp>
#include <fovea/core/integer_argument.hpp>
#include <fovea/expr/analyze.hpp>
#include <fovea/expr/elementary.hpp>
#include <fovea/expr/features.hpp>
#include <fovea/expr/literal.hpp>
#include <fovea/expr/operators.hpp>

#include <concepts>

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

template <class A, class B>
    requires expression_operands<A, B>
constexpr auto min(A const& a, B const& b) {
    return detail::build<operations::min>(a, b);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto max(A const& a, B const& b) {
    return detail::build<operations::max>(a, b);
}

/// select: the value of `a` where the condition holds, of `b` elsewhere.
///
/// Both are numbers, an integer if both are, otherwise real; or both are conditions. The one that is not taken does not
/// show, be it a NaN, and tables in it are not read.
template <operand Condition, operand A, operand B>
    requires(expression<Condition> || expression_operands<A, B>)
constexpr auto select(Condition const& condition, A const& a, B const& b) {
    if constexpr (detail::are_conditions<Condition, A, B>) return (condition && a) || (!condition && b);
    else return detail::build<operations::select>(condition, a, b);
}

/// real(a) = a as a real number: the quotient of real(a) and b is one of reals
template <expression A>
constexpr auto real(A const& a) {
    return detail::build<operations::real>(a);
}

/// floor_div(a, b) = the greatest integer that is not above a / b: what `/` is between integers. By zero it is 0.
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto floor_div(A const& a, B const& b) {
    return detail::build<operations::floor_div>(a, b);
}

template <expression A>
constexpr auto abs(A const& a) {
    return detail::build<operations::abs>(a);
}
template <expression A>
constexpr auto square(A const& a) {
    return detail::build<operations::square>(a);
}
template <expression A>
constexpr auto exp(A const& a) {
    return detail::build<operations::exp>(a);
}
template <expression A>
constexpr auto log(A const& a) {
    return detail::build<operations::log>(a);
}
template <expression A>
constexpr auto tanh(A const& a) {
    return detail::build<operations::tanh>(a);
}
template <expression A>
constexpr auto erf(A const& a) {
    return detail::build<operations::erf>(a);
}
template <expression A>
constexpr auto sqrt(A const& a) {
    return detail::build<operations::sqrt>(a);
}
template <expression A>
constexpr auto rsqrt(A const& a) {
    return detail::build<operations::rsqrt>(a);
}

// The other elementary functions of <cmath> that have derivatives; integers are taken as reals.
namespace detail {
template <class F, class... A>
constexpr auto build_elementary(A const&... a) {
    return build<operations::elementary_function<F>>(a...);
}
}  // namespace detail

template <expression A>
constexpr auto sin(A const& a) {
    return detail::build_elementary<elementary::sin>(a);
}
template <expression A>
constexpr auto cos(A const& a) {
    return detail::build_elementary<elementary::cos>(a);
}
template <expression A>
constexpr auto tan(A const& a) {
    return detail::build_elementary<elementary::tan>(a);
}
template <expression A>
constexpr auto asin(A const& a) {
    return detail::build_elementary<elementary::asin>(a);
}
template <expression A>
constexpr auto acos(A const& a) {
    return detail::build_elementary<elementary::acos>(a);
}
template <expression A>
constexpr auto atan(A const& a) {
    return detail::build_elementary<elementary::atan>(a);
}
template <class Y, class X>
    requires expression_operands<Y, X>
constexpr auto atan2(Y const& y, X const& x) {
    return detail::build_elementary<elementary::atan2>(y, x);
}
template <expression A>
constexpr auto sinh(A const& a) {
    return detail::build_elementary<elementary::sinh>(a);
}
template <expression A>
constexpr auto cosh(A const& a) {
    return detail::build_elementary<elementary::cosh>(a);
}
template <expression A>
constexpr auto asinh(A const& a) {
    return detail::build_elementary<elementary::asinh>(a);
}
template <expression A>
constexpr auto acosh(A const& a) {
    return detail::build_elementary<elementary::acosh>(a);
}
template <expression A>
constexpr auto atanh(A const& a) {
    return detail::build_elementary<elementary::atanh>(a);
}
template <expression A>
constexpr auto exp2(A const& a) {
    return detail::build_elementary<elementary::exp2>(a);
}
template <expression A>
constexpr auto expm1(A const& a) {
    return detail::build_elementary<elementary::expm1>(a);
}
template <expression A>
constexpr auto log2(A const& a) {
    return detail::build_elementary<elementary::log2>(a);
}
template <expression A>
constexpr auto log10(A const& a) {
    return detail::build_elementary<elementary::log10>(a);
}
template <expression A>
constexpr auto log1p(A const& a) {
    return detail::build_elementary<elementary::log1p>(a);
}
template <expression A>
constexpr auto cbrt(A const& a) {
    return detail::build_elementary<elementary::cbrt>(a);
}
template <expression A>
constexpr auto erfc(A const& a) {
    return detail::build_elementary<elementary::erfc>(a);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto hypot(A const& a, B const& b) {
    return detail::build_elementary<elementary::hypot>(a, b);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto pow(A const& a, B const& b) {
    return detail::build_elementary<elementary::pow>(a, b);
}

/// sigmoid(a) = 1 / (1 + exp(-a))
template <expression A>
constexpr auto sigmoid(A const& a) {
    return detail::build<operations::sigmoid>(a);
}

/// silu(a) = a sigmoid(a)
template <expression A>
constexpr auto silu(A const& a) {
    return detail::build<operations::silu>(a);
}

/// gelu(a) = a (1 + erf(a / sqrt(2))) / 2
template <expression A>
constexpr auto gelu(A const& a) {
    return detail::build<operations::gelu>(a);
}

/// relu(a) = max(a, 0)
template <expression A>
constexpr auto relu(A const& a) {
    return detail::build<operations::relu>(a);
}

/// leaky_relu(a, slope) = a above zero, slope * a below
template <expression A, operand Slope>
constexpr auto leaky_relu(A const& a, Slope const& slope) {
    return detail::build<operations::leaky_relu>(a, slope);
}

/// elu(a) = a above zero, exp(a) - 1 below
template <expression A>
constexpr auto elu(A const& a) {
    return detail::build<operations::elu>(a);
}

/// random: a number between 0 and 1, neither of them, for each pair of each head, evenly spread.
///
/// A function of seed, batch, head, q_idx and kv_idx: the same on any machine, for any number of threads. Different
/// seeds give numbers that have nothing to do with each other. Of the seed and the positions the lower 32 bits count,
/// of batch and head 16. Cost: 20 rounds of integer arithmetic for each pair. Source: Salmon et al. 2011
/// (Threefry-2x32).
template <class Integer>
constexpr auto random(Integer const& seed) {
    index_t number = 0;
    if constexpr (detail::is_integer_argument<Integer>()) number = static_cast<index_t>(seed);
    using namespace placeholders;
    return make_node<operations::random>(as_expression(number), batch, head, q_idx, kv_idx);
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
