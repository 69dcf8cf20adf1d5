// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plain numbers in expressions: their arithmetic, functions, and random numbers from a counter.
#pragma once

#include <fovea/core/ieee.hpp>
#include <fovea/core/index.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// threefry: 64 random bits from a counter and a key, the same wherever and in whatever order they are asked for.
///
/// Threefry-2x32 with 20 rounds. Source: Salmon et al. 2011, section 4.2 and table 2.
constexpr std::array<std::uint32_t, 2> threefry(std::array<std::uint32_t, 2> counter,
                                                std::array<std::uint32_t, 2> key) {
    constexpr int rotations[] = {13, 15, 26, 6, 17, 29, 16, 24};
    std::uint32_t const keys[] = {key[0], key[1], 0x1BD11BDAU ^ key[0] ^ key[1]};
    auto [x, y] = counter;
    x += keys[0];
    y += keys[1];
    for (unsigned round = 0; round < 20; ++round) {
        x += y;
        y = std::rotl(y, rotations[round % 8]) ^ x;
        if (unsigned const block = round / 4 + 1; round % 4 == 3) {
            x += keys[block % 3];
            y += keys[(block + 1) % 3] + block;
        }
    }
    return {x, y};
}

/// A number between 0 and 1, neither of them, for one pair of one head: a multiple of 2^-23 plus 2^-24, so that it is
/// the same in float and double.
constexpr double uniform_of_pair(index_t seed, index_t batch, index_t head, index_t query, index_t key) {
    auto const low = [](index_t x) { return static_cast<std::uint32_t>(x); };
    auto const bits = threefry({low(query), low(key)}, {low(seed), (low(batch) << 16) + low(head)})[0];
    return (static_cast<double>(bits >> 9) + 0.5) * 0x1p-23;
}

}  // namespace fovea::FOVEA_SET

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

/// As in std::max and in a pack, a NaN in the first operand stays.
template <class A, class B>
    requires numbers<A, B>
constexpr auto max(A a, B b) {
    using common = std::common_type_t<A, B>;
    return static_cast<common>(a) < static_cast<common>(b) ? static_cast<common>(b) : static_cast<common>(a);
}
template <class A, class B>
    requires numbers<A, B>
constexpr auto min(A a, B b) {
    using common = std::common_type_t<A, B>;
    return static_cast<common>(b) < static_cast<common>(a) ? static_cast<common>(b) : static_cast<common>(a);
}
/// max(a, 0), whose derivative at 0 is 0.
FOVEA_INLINE constexpr auto positive_part(auto const& a) { return max(a, 0); }

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
