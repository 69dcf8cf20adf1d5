// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers that know their derivative: what a function that is generic in its value has for one.
#pragma once

#include <fovea/expr/differentiate.hpp>
#include <fovea/expr/evaluate.hpp>

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
    friend constexpr dual max(dual const& a, dual const& b) { return a.value >= b.value ? a : b; }
    friend constexpr dual min(dual const& a, dual const& b) { return a.value <= b.value ? a : b; }
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

}  // namespace fovea::FOVEA_SET
