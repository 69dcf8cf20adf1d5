// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arithmetic, comparisons and functions of the indices of kernel/positions.hpp, among themselves and with numbers.
#pragma once

#include <fovea/expr/arithmetic.hpp>
#include <fovea/expr/elementary.hpp>
#include <fovea/kernel/clamped_positions.hpp>
#include <fovea/kernel/positions.hpp>
#include <fovea/simd/math.hpp>

#include <concepts>
#include <type_traits>

namespace fovea::FOVEA_SET::kernel {

/// Two operands of which one holds lane indices and the other is an integer, or lane indices too; without the
/// pairs that have operators of their own.
template <class A, class B>
concept mixed_indices = (lane_indices<A> && lane_indices<B> && !(is_index_pack<A> && is_index_pack<B>)
                         && !is_exact_pack<A> && !is_exact_pack<B>)
                     || ((is_either_integer<A> || is_clamped_positions<A>) && std::integral<B>)
                     || (std::integral<A> && (is_either_integer<B> || is_clamped_positions<B>));
template <class I>
concept any_positions = is_positions<I> || is_clamped_positions<I>;
template <class A, class B>
concept positions_and_integer = (any_positions<A> && std::integral<B>) || (std::integral<A> && any_positions<B>);
/// Lane indices beside a real: the arithmetic is real.
template <class A, class B>
concept index_and_real = (lane_indices<A> && (is_pack<B> || std::floating_point<B>))
                      || ((is_pack<A> || std::floating_point<A>) && lane_indices<B>);

/// As a pack of reals: a position, an integer per lane, or what is real already.
template <class X>
FOVEA_INLINE auto real(X const& x) {
    if constexpr (lane_indices<X>) return x.to_real();
    else return x;
}
template <class X>
    requires lane_indices<X> || is_pack<X>
FOVEA_INLINE auto to_real(X const& x) {
    return real(x);
}

template <class A, class B>
    requires mixed_indices<A, B> || index_and_real<A, B>
FOVEA_INLINE auto operator+(A const& a, B const& b) {
    if constexpr (mixed_indices<A, B>) return to_integers(a) + to_integers(b);
    else return real(a) + real(b);
}
template <class A, class B>
    requires mixed_indices<A, B> || index_and_real<A, B>
FOVEA_INLINE auto operator-(A const& a, B const& b) {
    if constexpr (mixed_indices<A, B>) return to_integers(a) - to_integers(b);
    else return real(a) - real(b);
}
template <class A, class B>
    requires mixed_indices<A, B> || positions_and_integer<A, B> || index_and_real<A, B>
FOVEA_INLINE auto operator*(A const& a, B const& b) {
    if constexpr (index_and_real<A, B>) return real(a) * real(b);
    else return to_integers(a) * to_integers(b);
}
template <class A, class B>
    requires mixed_indices<A, B> || positions_and_integer<A, B> || index_and_real<A, B>
FOVEA_INLINE auto operator/(A const& a, B const& b) {
    if constexpr (index_and_real<A, B>) return real(a) / real(b);
    else return to_integers(a) / to_integers(b);
}
template <class A, class B>
    requires mixed_indices<A, B> || positions_and_integer<A, B>
FOVEA_INLINE auto operator%(A const& a, B const& b) {
    return to_integers(a) % to_integers(b);
}
template <class A, class B>
    requires mixed_indices<A, B> || index_and_real<A, B>
FOVEA_INLINE auto operator<(A const& a, B const& b) {
    if constexpr (mixed_indices<A, B>) return to_integers(a) < to_integers(b);
    else return real(a) < real(b);
}
template <class A, class B>
    requires mixed_indices<A, B> || index_and_real<A, B>
FOVEA_INLINE auto operator<=(A const& a, B const& b) {
    if constexpr (mixed_indices<A, B>) return to_integers(a) <= to_integers(b);
    else return real(a) <= real(b);
}
template <class A, class B>
    requires mixed_indices<A, B> || index_and_real<A, B>
FOVEA_INLINE auto operator>(A const& a, B const& b) {
    return b < a;
}
template <class A, class B>
    requires mixed_indices<A, B> || index_and_real<A, B>
FOVEA_INLINE auto operator>=(A const& a, B const& b) {
    return b <= a;
}
template <class A, class B>
    requires mixed_indices<A, B> || positions_and_integer<A, B> || index_and_real<A, B>
FOVEA_INLINE auto operator==(A const& a, B const& b) {
    if constexpr (index_and_real<A, B>) return real(a) == real(b);
    else return to_integers(a) == to_integers(b);
}
template <class A, class B>
    requires mixed_indices<A, B> || positions_and_integer<A, B> || index_and_real<A, B>
FOVEA_INLINE auto min(A const& a, B const& b) {
    if constexpr (index_and_real<A, B>) return min(real(a), real(b));
    else return min(to_integers(a), to_integers(b));
}
template <class A, class B>
    requires mixed_indices<A, B> || positions_and_integer<A, B> || index_and_real<A, B>
FOVEA_INLINE auto max(A const& a, B const& b) {
    if constexpr (index_and_real<A, B>) return max(real(a), real(b));
    else return max(to_integers(a), to_integers(b));
}
template <class I>
    requires is_either_integer<I>
FOVEA_INLINE auto operator-(I const& i) {
    return -to_integers(i);
}
template <class I>
    requires any_positions<I> || is_either_integer<I>
FOVEA_INLINE auto abs(I const& i) {
    return abs(to_integers(i));
}
template <class I>
    requires any_positions<I> || is_either_integer<I>
FOVEA_INLINE auto square(I const& i) {
    return square(to_integers(i));
}

// Functions of reals take indices as reals.
template <lane_indices I>
FOVEA_INLINE auto exp(I const& i) {
    return exp(i.to_real());
}
template <lane_indices I>
FOVEA_INLINE auto log(I const& i) {
    return log(i.to_real());
}
template <lane_indices I>
FOVEA_INLINE auto tanh(I const& i) {
    return tanh(i.to_real());
}
template <lane_indices I>
FOVEA_INLINE auto sqrt(I const& i) {
    return sqrt(i.to_real());
}
template <lane_indices I>
FOVEA_INLINE auto erf(I const& i) {
    return erf(i.to_real());
}

/// An elementary function that has no vectors of its own: lane by lane as the standard library has it.
template <class F, class... A>
    requires((lane_indices<A> || is_pack<A>) || ...)
auto value_of(F, A const&... a) {
    using vector = std::remove_cvref_t<decltype((real(a) + ...))>;
    if constexpr (std::is_same_v<F, elementary::exp2>) return exp2((real(a) + ...));
    else {
        using lane_operations = lanes_of<typename vector::value_type, typename vector::architecture>;
        auto const each = [](std::size_t i, auto const&... stored) { return F::of(stored[i]...); };
        return [&](auto const&... stored) {
            alignas(64) typename lane_operations::array values;
            for (std::size_t i = 0; i < values.size(); ++i) values[i] = each(i, stored...);
            return vector::load(values.data());
        }(lane_operations::to_array(vector(real(a)))...);
    }
}

/// select with a condition per lane: integers stay integers where both sides are, anything else is real. Lanes of
/// 32 bits hold the integers of a call that needs no more; two numbers may be wider.
template <class T, class Arch, class A, class B>
    requires(!(is_pack<A> && is_pack<B>) && !(is_index_pack<A> && is_index_pack<B>))
FOVEA_INLINE auto select(lane_mask<T, Arch> const& m, A const& a, B const& b) {
    constexpr bool whole = (lane_indices<A> || std::integral<A>) && (lane_indices<B> || std::integral<B>);
    if constexpr (std::integral<A> && std::integral<B>)
        return either_integer<T, Arch>{m, static_cast<index_t>(a), static_cast<index_t>(b)};
    else if constexpr (whole && (is_exact_pack<A> || is_exact_pack<B> || is_either_integer<A> || is_either_integer<B>))
        return select(m, exact_pack<T, Arch>(a), exact_pack<T, Arch>(b));
    else if constexpr (whole)
        return select(m, index_pack<T, Arch>(to_integers(a)), index_pack<T, Arch>(to_integers(b)));
    else return select(m, pack<T, Arch>(real(a)), pack<T, Arch>(real(b)));
}

/// select with one condition for all lanes.
template <class A, class B>
    requires(lane_indices<A> || lane_indices<B>)
FOVEA_INLINE auto select(bool condition, A const& a, B const& b) {
    using mask = typename std::conditional_t<lane_indices<A>, A, B>::mask;
    return select(condition ? mask::all() : mask::none(), a, b);
}

/// The arithmetic of a call: reals are T, whichever lanes a number is the same for, and functions of numbers are those
/// of vectors.
template <class T, class Arch>
struct call_arithmetic : arithmetic_in<T> {
    template <class X>
    FOVEA_INLINE static auto to_real(X const& x) {
        if constexpr (std::is_arithmetic_v<X>) return static_cast<T>(x);
        else return real(x);
    }
    template <class Operation, class... X>
    FOVEA_INLINE static auto function(X const&... x) {
        if constexpr ((std::is_arithmetic_v<X> && ...))
            return lanes_of<T, Arch>::to_array(Operation::apply(pack<T, Arch>(x)...))[0];
        else return Operation::apply(x...);
    }
};

}  // namespace fovea::FOVEA_SET::kernel
