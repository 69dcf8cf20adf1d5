// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of intervals: minimum and maximum, choices, powers and elementary functions.
#pragma once

#include <fovea/core/interval.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

namespace fovea::FOVEA_SET {

template <class A, class B>
    requires detail::interval_operands<A, B>
constexpr auto min(A const& a, B const& b) {
    return detail::in_common_kind(a, b, [](auto x, auto y) {
        if (detail::may_be_nan(x) || detail::may_be_nan(y)) return decltype(x)::everything();
        return decltype(x){std::min(x.lo, y.lo), std::min(x.hi, y.hi)};
    });
}
template <class A, class B>
    requires detail::interval_operands<A, B>
constexpr auto max(A const& a, B const& b) {
    return detail::in_common_kind(a, b, [](auto x, auto y) {
        if (detail::may_be_nan(x) || detail::may_be_nan(y)) return decltype(x)::everything();
        return decltype(x){std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
    });
}

/// Either of two values, or the one that a settled condition picks.
template <class A, class B>
constexpr auto select(truth condition, A const& a, B const& b) {
    return detail::in_common_kind(detail::as_interval(a), detail::as_interval(b), [=](auto x, auto y) {
        if (condition.always()) return x;
        if (condition.never()) return y;
        return decltype(x){std::min(x.lo, y.lo), std::max(x.hi, y.hi)};
    });
}

template <class A, class B>
    requires detail::interval_operands<A, B>
constexpr auto select(bool condition, A const& a, B const& b) {
    return select(truth(condition), a, b);
}

template <class T>
constexpr interval<T> abs(interval<T> a) {
    if (a.lo >= 0 || detail::may_be_nan(a)) return a;
    if constexpr (std::is_integral_v<T>)  // the least integer has no absolute value
        if (a.lo == interval<T>::everything().lo) return interval<T>::everything();
    if (a.hi <= 0) return -a;
    return {T{0}, std::max(-a.lo, a.hi)};
}

template <class T>
constexpr interval<T> square(interval<T> a) {
    auto const positive = abs(a);
    if (detail::may_be_nan(a)) return a;
    return detail::times(positive, positive);
}

/// An interval of integers as one of reals.
template <class T>
constexpr auto to_real(interval<T> a) {
    if constexpr (std::floating_point<T>) return a;
    else return interval<double>(a);
}

namespace detail {
/// The interval around the ends of a range of function values, which the functions of vectors and of <cmath> come to
/// within some ulp. Below the normal numbers the result may be 0.
template <std::floating_point T>
constexpr interval<T> with_function_error(double lo, double hi) {
    using limits = std::numeric_limits<T>;
    constexpr double ulps = 8 * static_cast<double>(limits::epsilon()), largest = static_cast<double>(limits::max()),
                     least = static_cast<double>(limits::min());
    auto const error = [](double x) {
        double const size = x < 0 ? -x : x;
        return size < ieee::infinity<double> ? size * ulps + least : 0;
    };
    lo = std::min(lo - error(lo), largest);
    hi = std::max(hi + error(hi), -largest);
    return {lo < -largest ? -ieee::infinity<T> : static_cast<T>(lo),
            hi > largest ? ieee::infinity<T> : static_cast<T>(hi)};
}

/// The reals that functions of an interval are computed in, and those of several operands.
template <class T>
using real_of = std::conditional_t<std::floating_point<T>, T, double>;
template <class... A>
using common_real = std::conditional_t<(std::is_same_v<A, interval<float>> || ...), float, double>;
}  // namespace detail

/// The ends of a product are rounded by themselves already.
template <class T>
constexpr interval<T> rounded(interval<T> product) {
    return product;
}

/// The image under a function that never decreases.
template <class T, class F>
constexpr auto increasing(interval<T> a, F f) {
    using real = detail::real_of<T>;
    if (detail::may_be_nan(a)) return interval<real>::everything();
    return detail::with_function_error<real>(f(static_cast<double>(a.lo)), f(static_cast<double>(a.hi)));
}

/// Whatever the pair is.
template <class... A>
    requires(detail::interval_kind<A>::is || ...)
constexpr interval<double> uniform_of_pair(A const&...) {
    return {0, 1};
}

template <class T>
auto exp(interval<T> a) {
    return increasing(a, [](double x) { return std::exp(x); });
}
/// Of subnormal numbers logarithms are not exact.
template <class T>
auto log(interval<T> a) {
    using real = detail::real_of<T>;
    constexpr double least = static_cast<double>(std::numeric_limits<real>::min());
    if (!(a.lo >= 0)) return interval<real>::everything();
    auto const lo = static_cast<double>(a.lo), hi = static_cast<double>(a.hi);
    return detail::with_function_error<real>(lo < least ? -ieee::infinity<double> : std::log(lo),
                                             std::log(std::max(hi, 2 * least)));
}
template <class T>
auto tanh(interval<T> a) {
    return increasing(a, [](double x) { return std::tanh(x); });
}
template <class T>
auto erf(interval<T> a) {
    return increasing(a, [](double x) { return std::erf(x); });
}
/// Correctly rounded, as in vectors.
template <class T>
auto sqrt(interval<T> a) {
    using real = detail::real_of<T>;
    if (!(a.lo >= 0)) return interval<real>::everything();
    return interval<real>{std::sqrt(static_cast<real>(a.lo)), std::sqrt(static_cast<real>(a.hi))};
}

}  // namespace fovea::FOVEA_SET
