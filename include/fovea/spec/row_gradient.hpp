// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The backward rule of a normalizer: a row of weights and gradients, and numbers that know their derivative.
#pragma once

#include <fovea/expr/differentiate.hpp>
#include <fovea/expr/evaluate.hpp>
#include <fovea/spec/concepts.hpp>
#include <fovea/spec/row.hpp>
#include <fovea/spec/selection.hpp>

namespace fovea::FOVEA_SET {

/// dual: a number and its derivative by what a function was given. Its functions are those that numbers and vectors
/// have, found by argument-dependent lookup, with the rules of `derivative`.
template <class Real>
struct dual {
    Real value = 0, slope = 0;

    constexpr dual() = default;
    template <class Number>
        requires std::is_arithmetic_v<Number>
    constexpr dual(Number x) : value(static_cast<Real>(x)) {}
    constexpr dual(Real x, Real by) : value(x), slope(by) {}

    friend constexpr dual operator-(dual const& a) { return {-a.value, -a.slope}; }
    friend constexpr dual operator+(dual const& a, dual const& b) { return {a.value + b.value, a.slope + b.slope}; }
    friend constexpr dual operator-(dual const& a, dual const& b) { return {a.value - b.value, a.slope - b.slope}; }
    friend constexpr dual operator*(dual const& a, dual const& b) {
        return {a.value * b.value, a.slope * b.value + a.value * b.slope};
    }
    friend constexpr dual operator/(dual const& a, dual const& b) {
        Real const quotient = a.value / b.value;
        return {quotient, (a.slope - quotient * b.slope) / b.value};
    }
    constexpr dual& operator+=(dual const& b) { return *this = *this + b; }
    constexpr dual& operator-=(dual const& b) { return *this = *this - b; }
    constexpr dual& operator*=(dual const& b) { return *this = *this * b; }
    constexpr dual& operator/=(dual const& b) { return *this = *this / b; }

    friend constexpr bool operator==(dual const& a, dual const& b) { return a.value == b.value; }
    friend constexpr auto operator<=>(dual const& a, dual const& b) { return a.value <=> b.value; }

    // At a kink: that of `derivative`.
    friend constexpr dual select(bool condition, dual const& a, dual const& b) { return condition ? a : b; }
    friend constexpr dual max(dual const& a, dual const& b) { return a.value < b.value ? b : a; }
    friend constexpr dual min(dual const& a, dual const& b) { return b.value < a.value ? b : a; }
    friend constexpr dual abs(dual const& a) {
        return a.value > 0 ? a : a.value < 0 ? -a : dual{a.value == 0 ? Real(0) : a.value, Real(0)};
    }
    friend constexpr dual fma(dual const& a, dual const& b, dual const& c) { return a * b + c; }
    friend constexpr dual square(dual const& a) { return a * a; }
    friend dual exp(dual const& a) { return of<operations::exp>(a); }
    friend dual log(dual const& a) { return of<operations::log>(a); }
    friend dual tanh(dual const& a) { return of<operations::tanh>(a); }
    friend dual erf(dual const& a) { return of<operations::erf>(a); }
    friend dual sqrt(dual const& a) { return of<operations::sqrt>(a); }
    friend dual sin(dual const& a) { return of_elementary<elementary::sin>(a); }
    friend dual cos(dual const& a) { return of_elementary<elementary::cos>(a); }
    friend dual tan(dual const& a) { return of_elementary<elementary::tan>(a); }
    friend dual asin(dual const& a) { return of_elementary<elementary::asin>(a); }
    friend dual acos(dual const& a) { return of_elementary<elementary::acos>(a); }
    friend dual atan(dual const& a) { return of_elementary<elementary::atan>(a); }
    friend dual sinh(dual const& a) { return of_elementary<elementary::sinh>(a); }
    friend dual cosh(dual const& a) { return of_elementary<elementary::cosh>(a); }
    friend dual asinh(dual const& a) { return of_elementary<elementary::asinh>(a); }
    friend dual acosh(dual const& a) { return of_elementary<elementary::acosh>(a); }
    friend dual atanh(dual const& a) { return of_elementary<elementary::atanh>(a); }
    friend dual exp2(dual const& a) { return of_elementary<elementary::exp2>(a); }
    friend dual expm1(dual const& a) { return of_elementary<elementary::expm1>(a); }
    friend dual log2(dual const& a) { return of_elementary<elementary::log2>(a); }
    friend dual log10(dual const& a) { return of_elementary<elementary::log10>(a); }
    friend dual log1p(dual const& a) { return of_elementary<elementary::log1p>(a); }
    friend dual cbrt(dual const& a) { return of_elementary<elementary::cbrt>(a); }
    friend dual erfc(dual const& a) { return of_elementary<elementary::erfc>(a); }
    friend dual pow(dual const& a, dual const& b) {
        using operation = derivatives::function<elementary::pow>;
        literal<Real> const x{a.value}, y{b.value}, e{elementary::pow::of(a.value, b.value)};
        auto const& by = derivatives::by_operands<operation>;
        return {e.value, along(a, by.first(e, x, y)) + along(b, by.second(e, x, y))};
    }

private:
    struct nowhere {};

    /// The chain rule, where the outer derivative is an expression of numbers.
    template <class Outer>
    static Real along(dual const& inner, Outer const& outer) {
        return inner.slope == 0 ? Real(0) : inner.slope * static_cast<Real>(evaluate(outer, nowhere()));
    }
    template <class Operation>
    static dual of(dual const& a) {
        literal<Real> const x{a.value}, e{static_cast<Real>(Operation::apply(a.value))};
        return {e.value, along(a, derivatives::by_operand<Operation>(e, x))};
    }
    template <class F>
    static dual of_elementary(dual const& a) {
        return of<derivatives::function<F>>(a);
    }
};

/// The row that the backward rule of a normalizer is given, gradient(row): for each score s that takes part its weight
/// w, and the gradient g of that weight, which becomes the gradient of the score.
///
///     row.sum(f)           the sum of f(s, w, g)
///     row.map(f)           each gradient becomes f(s, w, g)
///     row.slope(n, s)      the derivative of the weight of an elementwise normalizer n at s
///
/// f is generic. A row in which no pair takes part is not asked for. A normalizer that differs from row to row may have
/// gradient(row, at) instead: at(expression) is a fact of the row, at.add(expression, x) gives it the gradient x,
/// and at.add(expression, s, x) an expression of the score s as well, and returns the gradient of s.
template <class T>
struct row_gradient_archetype {
    using value_type = T;
    T sum(auto const& f) const { return static_cast<T>(f(T{}, T{}, T{})); }
    void map(auto const& f) const { static_cast<void>(f(T{}, T{}, T{})); }
    T slope(auto const&, T) const { return T{}; }
};
template <class T>
struct gradient_facts_archetype {
    T operator()(auto const&) const { return T{1}; }
    void add(auto const&, T) const {}
    T add(auto const&, T, T) const { return T{}; }
};

namespace detail {
/// The value of an expression of the score.
template <class Real>
struct at_score {
    using arithmetic = arithmetic_in<Real>;
    Real value;
    Real operator()(score_t) const { return value; }
};

/// The derivative of the weight of an elementwise normalizer: of its expression, where it has one.
template <class N, class Real>
Real slope_of_weight(N const& n, Real score) {
    if constexpr (requires { n.expression(); })
        return static_cast<Real>(evaluate(derivative(n.expression(), placeholders::score), at_score<Real>{score}));
    else return n.weight(dual<Real>{score, Real(1)}).slope;
}

template <class N>
concept has_gradient_rule = requires(N const& n, row_gradient_archetype<double> row) { n.gradient(row); }
                         || requires(N const& n, row_gradient_archetype<double> row,
                                     gradient_facts_archetype<double> at) { n.gradient(row, at); };
/// A normalizer by a function of each score, `body`: back(s, x) goes through it from the gradient x of its value.
template <class N>
concept differentiated_by_function =
    requires(N const& n, row_gradient_archetype<double> row, double (*back)(double, double)) {
        n.body;
        n.gradient_by(row, back);
    };
}  // namespace detail

/// A normalizer that has a gradient: by its rule, or by key; after a selection, that of what follows.
template <class N>
inline constexpr bool has_row_gradient =
    detail::has_gradient_rule<N> || detail::differentiated_by_function<N> || elementwise_normalizer<N>;
template <class N>
    requires(row_dependent_normalizer<N> && !detail::has_gradient_rule<N>)
inline constexpr bool has_row_gradient<N> = has_row_gradient<row_normalizer<N>>;
template <class Selection, class Normalize>
inline constexpr bool has_row_gradient<kept<Selection, Normalize>> = has_row_gradient<Normalize>;

/// differentiate_row: the gradients of the weights of a row become those of its scores, by the rule of its normalizer,
/// one that keeps all keys. `at` has the value of an expression of the row, and takes its gradient.
template <normalizer N, class Row, class Facts>
void differentiate_row(N const& n, Row&& row, Facts const& at) {
    using number = typename std::remove_cvref_t<Row>::value_type;
    if (row.size() == 0) return;
    if constexpr (requires { n.gradient(row, at); }) {
        n.gradient(row, at);
    } else if constexpr (requires { n.gradient(row); }) {
        n.gradient(row);
    } else if constexpr (detail::differentiated_by_function<N>) {
        n.gradient_by(in_vectors(row),
                      [&](auto const& score, auto const& amount) { return at.add(n.body, score, amount); });
    } else if constexpr (row_dependent_normalizer<N>) {
        differentiate_row(n.for_row(at), row, at);
    } else {
        static_assert(elementwise_normalizer<N>);  // asked before
        row.map([&](number score, number, number gradient) { return gradient * row.slope(n, score); });
    }
}

}  // namespace fovea::FOVEA_SET
