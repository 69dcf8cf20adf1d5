// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The derivative of an expression by one of its names, which is an expression again.
#pragma once

#include <fovea/expr/functions.hpp>

#include <numbers>
#include <type_traits>

namespace fovea::FOVEA_SET {

namespace derivatives {

/// A derivative that is 0, or 1, whatever the values: nothing is computed of it.
struct zero {};
struct one {};
template <class D>
inline constexpr bool is_zero = std::is_same_v<D, zero>;

template <class D>
constexpr auto written(D const& d) {
    if constexpr (is_zero<D>) return literal<double>{0};
    else if constexpr (std::is_same_v<D, one>) return literal<double>{1};
    else return d;
}
template <class A, class B>
constexpr auto add(A const& a, B const& b) {
    if constexpr (is_zero<A>) return b;
    else if constexpr (is_zero<B>) return a;
    else return written(a) + written(b);
}
template <class A>
constexpr auto negate(A const& a) {
    if constexpr (is_zero<A>) return a;
    else return -written(a);
}
template <class Condition, class A, class B>
constexpr auto choose(Condition const& condition, A const& a, B const& b) {
    if constexpr (is_zero<A> && is_zero<B>) return a;
    else return select(condition, written(a), written(b));
}
/// The chain rule: `outer` gives the derivative of the outer function, and is not asked where `inner` is 0.
template <class Inner, class Outer>
constexpr auto chain(Inner const& inner, Outer const& outer) {
    if constexpr (is_zero<Inner>) return inner;
    else if constexpr (std::is_same_v<Inner, one>) return outer();
    else return inner * outer();
}

/// No rule: the function has no derivative.
struct no_rule {};

/// The derivative of a function of one operand: of e, its value, and of the operand.
template <class Operation>
inline constexpr auto by_operand = no_rule{};
template <>
inline constexpr auto by_operand<operations::square> = [](auto const&, auto const& a) { return 2 * a; };
template <>
inline constexpr auto by_operand<operations::exp> = [](auto const& e, auto const&) { return e; };
template <>
inline constexpr auto by_operand<operations::log> = [](auto const&, auto const& a) { return 1 / a; };
template <>
inline constexpr auto by_operand<operations::tanh> = [](auto const& e, auto const&) { return 1 - square(e); };
template <>
inline constexpr auto by_operand<operations::erf> =
    [](auto const&, auto const& a) { return 2 * std::numbers::inv_sqrtpi * exp(-square(a)); };
template <>
inline constexpr auto by_operand<operations::sqrt> =
    [](auto const& e, auto const&) { return select(e == 0, 0, 0.5 / e); };  // a kink of distances, at 0
template <>
inline constexpr auto by_operand<operations::rsqrt> = [](auto const& e, auto const&) { return -0.5 * e * square(e); };
template <>
inline constexpr auto by_operand<operations::sigmoid> = [](auto const& e, auto const&) { return e * (1 - e); };
template <>
inline constexpr auto by_operand<operations::silu> =
    [](auto const& e, auto const& a) { return sigmoid(a) * (1 - e) + e; };
template <>
inline constexpr auto by_operand<operations::gelu> = [](auto const&, auto const& a) {
    return 0.5 * (1 + erf(a * (std::numbers::sqrt2 / 2)))
         + a * exp(-0.5 * square(a)) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
};
template <>
inline constexpr auto by_operand<operations::elu> = [](auto const&, auto const& a) { return exp(min(a, 0)); };

template <class F>
using function = operations::elementary_function<F>;
template <>
inline constexpr auto by_operand<function<elementary::sin>> = [](auto const&, auto const& a) { return cos(a); };
template <>
inline constexpr auto by_operand<function<elementary::cos>> = [](auto const&, auto const& a) { return -sin(a); };
template <>
inline constexpr auto by_operand<function<elementary::tan>> = [](auto const& e, auto const&) { return 1 + square(e); };
template <>
inline constexpr auto by_operand<function<elementary::asin>> =
    [](auto const&, auto const& a) { return rsqrt(1 - square(a)); };
template <>
inline constexpr auto by_operand<function<elementary::acos>> =
    [](auto const&, auto const& a) { return -rsqrt(1 - square(a)); };
template <>
inline constexpr auto by_operand<function<elementary::atan>> =
    [](auto const&, auto const& a) { return 1 / (1 + square(a)); };
template <>
inline constexpr auto by_operand<function<elementary::sinh>> = [](auto const&, auto const& a) { return cosh(a); };
template <>
inline constexpr auto by_operand<function<elementary::cosh>> = [](auto const&, auto const& a) { return sinh(a); };
template <>
inline constexpr auto by_operand<function<elementary::asinh>> =
    [](auto const&, auto const& a) { return rsqrt(1 + square(a)); };
template <>
inline constexpr auto by_operand<function<elementary::acosh>> =
    [](auto const&, auto const& a) { return rsqrt(square(a) - 1); };
template <>
inline constexpr auto by_operand<function<elementary::atanh>> =
    [](auto const&, auto const& a) { return 1 / (1 - square(a)); };
template <>
inline constexpr auto by_operand<function<elementary::exp2>> =
    [](auto const& e, auto const&) { return std::numbers::ln2 * e; };
template <>
inline constexpr auto by_operand<function<elementary::expm1>> = [](auto const&, auto const& a) { return exp(a); };
template <>
inline constexpr auto by_operand<function<elementary::log2>> =
    [](auto const&, auto const& a) { return std::numbers::log2e / a; };
template <>
inline constexpr auto by_operand<function<elementary::log10>> =
    [](auto const&, auto const& a) { return std::numbers::log10e / a; };
template <>
inline constexpr auto by_operand<function<elementary::log1p>> = [](auto const&, auto const& a) { return 1 / (1 + a); };
template <>
inline constexpr auto by_operand<function<elementary::cbrt>> =
    [](auto const& e, auto const&) { return 1 / (3 * square(e)); };
template <>
inline constexpr auto by_operand<function<elementary::erfc>> =
    [](auto const&, auto const& a) { return -2 * std::numbers::inv_sqrtpi * exp(-square(a)); };

/// The derivatives of a function of two operands by the first and by the second.
template <class First, class Second>
struct by_each {
    First first;
    Second second;
};
template <class Operation>
inline constexpr auto by_operands = no_rule{};
template <>
inline constexpr auto by_operands<operations::times> =
    by_each{[](auto const&, auto const&, auto const& b) { return b; },
            [](auto const&, auto const& a, auto const&) { return a; }};
template <>
inline constexpr auto by_operands<operations::divided> =
    by_each{[](auto const&, auto const&, auto const& b) { return 1 / real(b); },
            [](auto const& e, auto const&, auto const& b) { return -e / b; }};
template <>
inline constexpr auto by_operands<function<elementary::atan2>> =
    by_each{[](auto const&, auto const& y, auto const& x) { return x / (square(x) + square(y)); },
            [](auto const&, auto const& y, auto const& x) { return -y / (square(x) + square(y)); }};
template <>
inline constexpr auto by_operands<function<elementary::hypot>> =
    by_each{[](auto const& e, auto const& x, auto const&) { return x / e; },
            [](auto const& e, auto const&, auto const& y) { return y / e; }};
template <>
inline constexpr auto by_operands<function<elementary::pow>> =
    by_each{[](auto const&, auto const& x, auto const& y) { return select(y == 0, 0, y * pow(x, y - 1)); },
            [](auto const& e, auto const& x, auto const&) { return select(x == 0, 0, e * log(x)); }};

/// Operations that add or choose: their derivative, of those of their operands. Where two branches meet the field's
/// convention holds: relu and abs have the derivative 0 at 0, max and min that of the first operand.
template <class Operation>
inline constexpr auto of_derivatives = no_rule{};
template <>
inline constexpr auto of_derivatives<operations::plus> =
    [](auto const&, auto const&, auto const& da, auto const& db) { return add(da, db); };
template <>
inline constexpr auto of_derivatives<operations::minus> =
    [](auto const&, auto const&, auto const& da, auto const& db) { return add(da, negate(db)); };
template <>
inline constexpr auto of_derivatives<operations::negate> = [](auto const&, auto const& da) { return negate(da); };
template <>
inline constexpr auto of_derivatives<operations::real> = [](auto const&, auto const& da) { return da; };
template <>
inline constexpr auto of_derivatives<operations::abs> =
    [](auto const& a, auto const& da) { return choose(a > 0, da, choose(a < 0, negate(da), zero{})); };
template <>
inline constexpr auto of_derivatives<operations::relu> =
    [](auto const& a, auto const& da) { return choose(a > 0, da, zero{}); };
template <>
inline constexpr auto of_derivatives<operations::max> =
    [](auto const& a, auto const& b, auto const& da, auto const& db) { return choose(a < b, db, da); };
template <>
inline constexpr auto of_derivatives<operations::min> =
    [](auto const& a, auto const& b, auto const& da, auto const& db) { return choose(b < a, db, da); };
template <>
inline constexpr auto of_derivatives<operations::leaky_relu> =
    [](auto const& a, auto const& slope, auto const& da, auto const& dslope) {
        return choose(a > 0, da, add(chain(da, [&] { return slope; }), chain(dslope, [&] { return a; })));
    };
template <>
inline constexpr auto of_derivatives<operations::select> = [](auto const& condition, auto const&, auto const&, zero,
                                                              auto const& da,
                                                              auto const& db) { return choose(condition, da, db); };

template <class Rule>
inline constexpr bool is_rule = !std::is_same_v<Rule, no_rule const>;

template <class E, class Name>
constexpr auto derive(E const& e, Name name) {
    if constexpr (std::is_same_v<E, Name>) {
        return one{};
    } else if constexpr (!uses<E, Name> || is_whole_number<E> || is_condition<E> || is_node_of<at_operation, E>) {
        return zero{};  // integers and conditions are steps
    } else if constexpr (is_node_of<operations::sum, E>) {
        return derive(get<0>(e), name);  // by one feature
    } else {
        using operation = typename E::operation;
        if constexpr (is_rule<decltype(of_derivatives<operation>)>) {
            return with_children(e,
                                 [&](auto const&... a) { return of_derivatives<operation>(a..., derive(a, name)...); });
        } else if constexpr (is_rule<decltype(by_operand<operation>)>) {
            auto const& a = get<0>(e);
            return chain(derive(a, name), [&] { return by_operand<operation>(e, a); });
        } else if constexpr (is_rule<decltype(by_operands<operation>)>) {
            constexpr auto const& by = by_operands<operation>;
            auto const& a = get<0>(e);
            auto const& b = get<1>(e);
            return add(chain(derive(a, name), [&] { return by.first(e, a, b); }),
                       chain(derive(b, name), [&] { return by.second(e, a, b); }));
        } else {
            static_assert(never<E>);  // every operation has a rule
        }
    }
}

}  // namespace derivatives

/// derivative: that of an expression by one of its names, as an expression: a number where it is the same everywhere.
///
/// Of a sum over features there is one for each feature: that of its body by q or k, in which these stand for one.
template <expression E, class Name>
    requires is_placeholder<Name>
constexpr auto derivative(E const& e, Name name) {
    return derivatives::written(derivatives::derive(e, name));
}

}  // namespace fovea::FOVEA_SET
