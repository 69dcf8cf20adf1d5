// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementary functions of packs, held against the same of wider numbers.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

template <class T>
using wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;
template <class T>
using limits = std::numeric_limits<T>;

inline constexpr auto exp_of = [](auto const& x) {
    using std::exp;
    return exp(x);
};
inline constexpr auto exp2_of = [](auto const& x) {
    using std::exp2;
    return exp2(x);
};
inline constexpr auto tanh_of = [](auto const& x) {
    using std::tanh;
    return tanh(x);
};
inline constexpr auto log_of = [](auto const& x) {
    using std::log;
    return log(x);
};

/// By its bits: some flags say that all numbers are finite.
template <class T>
bool is_finite(T x) {
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr auto exponent = static_cast<bits>(sizeof(T) == 4 ? 0x7f800000 : 0x7ff0000000000000);
    return (std::bit_cast<bits>(x) & exponent) != exponent;
}

/// The distance in units in the last place of T at the exact value; 0 where that is no normal number, and otherwise the
/// largest double for what is not finite.
template <class T>
double ulps(wider<T> exact, T got) {
    auto const size = std::abs(exact);
    if (!(size >= limits<T>::min() && size <= limits<T>::max())) return 0;
    if (!is_finite(got)) return limits<double>::max();
    auto const unit = std::ldexp(wider<T>{1}, std::ilogb(exact) - limits<T>::digits + 1);
    return static_cast<double>(std::abs(static_cast<wider<T>>(got) - exact) / unit);
}
