// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arithmetic of expressions for plain numbers; batches and intervals bring theirs by argument-dependent lookup.
#pragma once

#include <fovea/core/counter_random.hpp>
#include <fovea/core/ieee.hpp>
#include <fovea/core/index.hpp>

#include <cmath>
#include <limits>
#include <type_traits>

namespace fovea::FOVEA_SET::scalar {

template <class... T>
concept numbers = (std::is_arithmetic_v<T> && ...);

template <class T>
using real = std::conditional_t<std::is_floating_point_v<T>, T, double>;

/// Integers of the language: 64 bits in two's complement, wrapping around where a value does not fit.
template <class... T>
concept integers = (std::is_integral_v<T> && ...);

/// A number in the common type of itself and another; anything else as it is.
template <class A, class B>
FOVEA_INLINE constexpr decltype(auto) like(A const& a, B const&) {
    if constexpr (numbers<A, B>) return static_cast<std::common_type_t<A, B>>(a);
    else return (a);
}

template <class A, class B>
    requires numbers<A, B>
constexpr auto divide(A a, B b) {
    if constexpr (integers<A, B>) return floor_divide(static_cast<index_t>(a), static_cast<index_t>(b));
    else return like(a, b) / like(b, a);
}

template <class A, class B>
    requires numbers<A, B>
constexpr auto modulo(A a, B b) {
    static_assert(std::is_integral_v<A> && std::is_integral_v<B>, "fovea: % needs integers");
    return floor_modulo(static_cast<index_t>(a), static_cast<index_t>(b));
}

/// A NaN in the second operand stays, as in the vector instructions.
template <class A, class B>
    requires numbers<A, B>
constexpr auto max(A a, B b) {
    using common = std::common_type_t<A, B>;
    return static_cast<common>(a) > static_cast<common>(b) ? static_cast<common>(a) : static_cast<common>(b);
}
template <class A, class B>
    requires numbers<A, B>
constexpr auto min(A a, B b) {
    using common = std::common_type_t<A, B>;
    return static_cast<common>(a) < static_cast<common>(b) ? static_cast<common>(a) : static_cast<common>(b);
}

template <class A, class B>
    requires numbers<A, B>
constexpr auto select(bool condition, A a, B b) {
    using common = std::common_type_t<A, B>;
    return condition ? static_cast<common>(a) : static_cast<common>(b);
}

template <class A>
    requires numbers<A>
constexpr auto negate(A a) {
    if constexpr (integers<A>) return wrapped_minus(0, static_cast<index_t>(a));
    else return -a;
}
template <class A>
    requires numbers<A>
constexpr auto abs(A a) {
    return a < A{0} ? negate(a) : a;
}
template <class A>
    requires numbers<A>
constexpr auto square(A a) {
    if constexpr (integers<A>) return wrapped_times(static_cast<index_t>(a), static_cast<index_t>(a));
    else return a * a;
}
/// An integer as a real; a real as it is.
template <class A>
    requires numbers<A>
constexpr auto to_real(A a) {
    return static_cast<real<A>>(a);
}

using fovea::rounded;
using fovea::uniform_of_pair;

template <class A>
    requires numbers<A>
auto exp(A a) {
    return std::exp(static_cast<real<A>>(a));
}
template <class A>
    requires numbers<A>
auto log(A a) {
    return std::log(static_cast<real<A>>(a));
}
template <class A>
    requires numbers<A>
auto tanh(A a) {
    return std::tanh(static_cast<real<A>>(a));
}
template <class A>
    requires numbers<A>
auto erf(A a) {
    return std::erf(static_cast<real<A>>(a));
}
template <class A>
    requires numbers<A>
auto sqrt(A a) {
    return std::sqrt(static_cast<real<A>>(a));
}

}  // namespace fovea::FOVEA_SET::scalar
