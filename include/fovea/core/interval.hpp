// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Interval arithmetic: what is known of a number, or of a condition, over a box of pairs.
#pragma once

#include <fovea/core/ieee.hpp>
#include <fovea/core/index.hpp>

#include <algorithm>
#include <concepts>
#include <limits>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// The possible values of a condition over a box of pairs: it may hold somewhere, it may fail somewhere.
struct truth {
    bool may_hold = true;
    bool may_fail = true;

    constexpr truth() = default;
    constexpr explicit truth(bool holds) : may_hold(holds), may_fail(!holds) {}
    constexpr truth(bool hold, bool fail) : may_hold(hold), may_fail(fail) {}
    constexpr bool always() const { return !may_fail; }
    constexpr bool never() const { return !may_hold; }
    friend constexpr bool operator==(truth, truth) = default;
};

constexpr truth operator&&(truth a, truth b) { return {a.may_hold && b.may_hold, a.may_fail || b.may_fail}; }
constexpr truth operator||(truth a, truth b) { return {a.may_hold || b.may_hold, a.may_fail && b.may_fail}; }
constexpr truth operator&&(truth a, bool b) { return a && truth(b); }
constexpr truth operator||(truth a, bool b) { return a || truth(b); }
constexpr truth operator!(truth a) { return {a.may_fail, a.may_hold}; }

/// Every value an expression can take over a box: lo <= value <= hi. T is index_t, or the type of the arithmetic: float
/// or double.
///
/// The ends are computed in T, step by step as the values are. Since rounding never turns two numbers around, what is
/// computed in T lies between them, and an interval of one pair is the value itself. Where a value may be a NaN, or an
/// integer may wrap around, the interval is everything(): so what is computed of everything() in reals may be a NaN
/// again.
template <class T>
struct interval {
    using value_type = T;
    T lo{};
    T hi{};

    constexpr interval() = default;
    constexpr interval(T value) : lo(value), hi(value) {
        if (value != value) *this = everything();
    }
    constexpr interval(T low, T high) : lo(low), hi(high) {}
    template <std::floating_point Real>
        requires(!std::is_same_v<T, Real>)
    constexpr operator interval<Real>() const {
        return {static_cast<Real>(lo), static_cast<Real>(hi)};
    }
    constexpr bool contains(T value) const { return lo <= value && value <= hi; }
    static constexpr interval everything() {
        if constexpr (std::floating_point<T>) return {-ieee::infinity<T>, ieee::infinity<T>};
        else return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    }
    friend constexpr bool operator==(interval, interval) = default;
};

namespace detail {
template <class T>
struct interval_kind {
    static constexpr bool is = false;
};
template <class T>
struct interval_kind<interval<T>> {
    static constexpr bool is = true;
};

/// A number or an interval as an interval of its kind.
template <class T>
constexpr auto as_interval(T const& x) {
    if constexpr (interval_kind<T>::is) return x;
    else if constexpr (std::is_integral_v<T>) return interval<index_t>(static_cast<index_t>(x));
    else return interval<T>(x);
}

template <class T>
constexpr bool may_be_nan(interval<T> x) {
    return std::floating_point<T> && x == interval<T>::everything();
}

/// The kind of what is computed of two: an integer of two integers, otherwise the arithmetic of the call, which is
/// float where an interval is one of floats, whatever type a number beside it has.
template <class A, class B>
using common_kind =
    std::conditional_t<std::is_same_v<A, B>, A,
                       std::conditional_t<std::is_same_v<A, interval<float>> || std::is_same_v<B, interval<float>>,
                                          interval<float>, interval<double>>>;

template <class A, class B>
concept interval_operands = (interval_kind<A>::is && (interval_kind<B>::is || std::is_arithmetic_v<B>))
                         || (interval_kind<B>::is && std::is_arithmetic_v<A>);

/// Both operands in their common kind.
template <class A, class B, class F>
constexpr auto in_common_kind(A const& a, B const& b, F f) {
    using kind = common_kind<decltype(as_interval(a)), decltype(as_interval(b))>;
    return f(kind(as_interval(a)), kind(as_interval(b)));
}

template <class T>
constexpr T without_nan(T x, T otherwise) {
    return x == x ? x : otherwise;
}

/// The interval between two ends; an end that is not a number widens to everything.
template <class T>
constexpr interval<T> between(T lo, T hi) {
    auto const all = interval<T>::everything();
    return lo == lo && hi == hi ? interval<T>{lo, hi} : all;
}

/// The hull of four corner values; a corner that is not a number widens to everything.
template <class T>
constexpr interval<T> hull(T a, T b, T c, T d) {
    auto const all = interval<T>::everything();
    return {std::min({without_nan(a, all.lo), without_nan(b, all.lo), without_nan(c, all.lo), without_nan(d, all.lo)}),
            std::max({without_nan(a, all.hi), without_nan(b, all.hi), without_nan(c, all.hi), without_nan(d, all.hi)})};
}

/// Sums, differences and products: of integers everything where one of them may wrap around.
template <std::floating_point T>
constexpr interval<T> plus(interval<T> x, interval<T> y) {
    return between(x.lo + y.lo, x.hi + y.hi);
}
template <std::floating_point T>
constexpr interval<T> minus(interval<T> x, interval<T> y) {
    return between(x.lo - y.hi, x.hi - y.lo);
}
template <std::floating_point T>
constexpr interval<T> times(interval<T> x, interval<T> y) {
    return hull(rounded(x.lo * y.lo), rounded(x.lo * y.hi), rounded(x.hi * y.lo), rounded(x.hi * y.hi));
}
constexpr interval<index_t> plus(interval<index_t> x, interval<index_t> y) {
    interval<index_t> sum;
    bool const wraps = __builtin_add_overflow(x.lo, y.lo, &sum.lo) || __builtin_add_overflow(x.hi, y.hi, &sum.hi);
    return wraps ? interval<index_t>::everything() : sum;
}
constexpr interval<index_t> minus(interval<index_t> x, interval<index_t> y) {
    interval<index_t> difference;
    bool const wraps =
        __builtin_sub_overflow(x.lo, y.hi, &difference.lo) || __builtin_sub_overflow(x.hi, y.lo, &difference.hi);
    return wraps ? interval<index_t>::everything() : difference;
}
constexpr interval<index_t> times(interval<index_t> x, interval<index_t> y) {
    index_t a = 0, b = 0, c = 0, d = 0;
    bool const wraps = __builtin_mul_overflow(x.lo, y.lo, &a) || __builtin_mul_overflow(x.lo, y.hi, &b)
                    || __builtin_mul_overflow(x.hi, y.lo, &c) || __builtin_mul_overflow(x.hi, y.hi, &d);
    return wraps ? interval<index_t>::everything() : hull(a, b, c, d);
}
}  // namespace detail

template <class A, class B>
    requires detail::interval_operands<A, B>
constexpr auto operator+(A const& a, B const& b) {
    return detail::in_common_kind(a, b, [](auto x, auto y) { return detail::plus(x, y); });
}

template <class A, class B>
    requires detail::interval_operands<A, B>
constexpr auto operator-(A const& a, B const& b) {
    return detail::in_common_kind(a, b, [](auto x, auto y) { return detail::minus(x, y); });
}

template <class A, class B>
    requires detail::interval_operands<A, B>
constexpr auto operator*(A const& a, B const& b) {
    return detail::in_common_kind(a, b, [](auto x, auto y) { return detail::times(x, y); });
}

/// Division: integers round down; a divisor that may be zero gives everything.
template <class A, class B>
    requires detail::interval_operands<A, B>
constexpr auto operator/(A const& a, B const& b) {
    return detail::in_common_kind(a, b, [](auto x, auto y) {
        using kind = decltype(x);
        if (y.lo <= 0 && y.hi >= 0) return kind::everything();
        if constexpr (std::is_same_v<kind, interval<index_t>>) {
            if (x.lo == kind::everything().lo && y.hi == -1) return kind::everything();
            return detail::hull(floor_divide(x.lo, y.lo), floor_divide(x.lo, y.hi), floor_divide(x.hi, y.lo),
                                floor_divide(x.hi, y.hi));
        } else return detail::hull(x.lo / y.lo, x.lo / y.hi, x.hi / y.lo, x.hi / y.hi);
    });
}

/// Remainder: exact where the dividend stays within one period of a constant; a divisor that may be zero gives
/// everything.
template <class A, class B>
    requires detail::interval_operands<A, B>
constexpr auto operator%(A const& a, B const& b) {
    return detail::in_common_kind(a, b, [](auto x, auto y) {
        static_assert(std::is_same_v<decltype(x), interval<index_t>>, "fovea: % needs integers");
        if (y.hi < 0) return interval<index_t>{y.lo + 1, 0};
        if (y.lo <= 0) return interval<index_t>::everything();
        if (y.lo == y.hi && floor_divide(x.lo, y.lo) == floor_divide(x.hi, y.lo))
            return interval<index_t>{floor_modulo(x.lo, y.lo), floor_modulo(x.hi, y.lo)};
        return interval<index_t>{0, y.hi - 1};
    });
}

template <class T>
constexpr interval<T> operator-(interval<T> a) {
    return detail::minus(interval<T>(T{0}), a);
}

template <class A, class B>
    requires detail::interval_operands<A, B>
constexpr truth operator<(A const& a, B const& b) {
    return detail::in_common_kind(a, b, [](auto x, auto y) { return truth{x.lo < y.hi, !(x.hi < y.lo)}; });
}
template <class A, class B>
    requires detail::interval_operands<A, B>
constexpr truth operator<=(A const& a, B const& b) {
    return detail::in_common_kind(a, b, [](auto x, auto y) {
        bool const numbers = !detail::may_be_nan(x) && !detail::may_be_nan(y);
        return truth{x.lo <= y.hi, !(numbers && x.hi <= y.lo)};
    });
}
template <class A, class B>
    requires detail::interval_operands<A, B>
constexpr truth operator>(A const& a, B const& b) {
    return b < a;
}
template <class A, class B>
    requires detail::interval_operands<A, B>
constexpr truth operator>=(A const& a, B const& b) {
    return b <= a;
}

/// Equality of what two expressions may be (the intervals themselves compare with ==).
template <class A, class B>
constexpr truth may_equal(A const& a, B const& b) {
    return detail::in_common_kind(a, b, [](auto x, auto y) {
        bool const apart = x.hi < y.lo || y.hi < x.lo;
        bool const same_point = x.lo == x.hi && y.lo == y.hi && x.lo == y.lo;
        return truth{!apart, !same_point};
    });
}

}  // namespace fovea::FOVEA_SET
