// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of intervals: minimum and maximum, choices, powers and elementary functions.
#pragma once

#include <fovea/core/interval.hpp>

#include <algorithm>
#include <cmath>
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
constexpr interval<double> to_real(interval<T> a) {
    return a;
}

/// The image under a function that never decreases.
template <class T, class F>
constexpr interval<double> increasing(interval<T> a, F f) {
    if (detail::may_be_nan(a)) return a;
    return {f(static_cast<double>(a.lo)), f(static_cast<double>(a.hi))};
}

/// Whatever the pair is.
template <class... A>
    requires(detail::interval_kind<A>::is || ...)
constexpr interval<double> uniform_of_pair(A const&...) {
    return {0, 1};
}

template <class T>
interval<double> exp(interval<T> a) {
    return increasing(a, [](double x) { return std::exp(x); });
}
template <class T>
interval<double> log(interval<T> a) {
    if (a.lo < 0) return interval<double>::everything();
    return increasing(a, [](double x) { return std::log(x); });
}
template <class T>
interval<double> tanh(interval<T> a) {
    return increasing(a, [](double x) { return std::tanh(x); });
}
template <class T>
interval<double> erf(interval<T> a) {
    return increasing(a, [](double x) { return std::erf(x); });
}
template <class T>
interval<double> sqrt(interval<T> a) {
    if (a.lo < 0) return interval<double>::everything();
    return increasing(a, [](double x) { return std::sqrt(x); });
}

}  // namespace fovea::FOVEA_SET
