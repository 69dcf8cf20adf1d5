// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer arithmetic of indices in lanes: consecutive positions, and positions held between two numbers, at which
// tables of distances are read.
#pragma once

#include <fovea/expr/elementary.hpp>
#include <fovea/expr/evaluate.hpp>
#include <fovea/kernel/positions.hpp>
#include <fovea/simd/math.hpp>

#include <algorithm>
#include <concepts>
#include <type_traits>

namespace fovea::FOVEA_SET::kernel {

/// clamp(first + Step i, least, greatest) in lane i, where some lane is each of the bounds.
///
/// Stays of this kind when a number bounds it, is added, or is what it is subtracted from: a vector of them most often
/// lies inside of the bounds, where it is consecutive positions, or beyond one, where it is a number.
template <class T, class Arch, int Step>
struct clamped_positions {
    using real = pack<T, Arch>;
    using mask = lane_mask<T, Arch>;
    using integers = index_pack<T, Arch>;

    positions<T, Arch, Step> unclamped;
    index_t least, greatest;

    FOVEA_INLINE clamped_positions(positions<T, Arch, Step> all, index_t low, index_t high)
        : unclamped(all), least(low), greatest(high) {}
    FOVEA_INLINE explicit clamped_positions(positions<T, Arch, Step> all)
        : clamped_positions(all, Step == 1 ? all.first : wrapped_minus(all.first, real::lanes - 1),
                            Step == 1 ? wrapped_plus(all.first, real::lanes - 1) : all.first) {}

    FOVEA_INLINE bool is_inside() const { return wrapped_minus(greatest, least) == real::lanes - 1; }
    FOVEA_INLINE bool is_number() const { return least == greatest; }
    FOVEA_INLINE index_t lane(index_t i) const {
        return std::clamp(wrapped_plus(unclamped.first, Step * i), least, greatest);
    }

    integers to_integers() const {
        typename integers::array_type each;
        for (std::size_t i = 0; i < each.size(); ++i)
            each[i] = static_cast<integer_like<T>>(lane(static_cast<index_t>(i)));
        return integers::load(each.data());
    }
    FOVEA_INLINE real to_real() const {
        if (is_inside()) return unclamped.to_real();
        if (is_number()) return real(static_cast<T>(least));
        return rounded_lanes<T, Arch>([this](index_t i) { return lane(i); });
    }

    FOVEA_INLINE friend clamped_positions operator+(clamped_positions const& a, std::integral auto b) {
        auto const n = static_cast<index_t>(b);
        return {a.unclamped + n, wrapped_plus(a.least, n), wrapped_plus(a.greatest, n)};
    }
    FOVEA_INLINE friend clamped_positions operator+(std::integral auto b, clamped_positions const& a) { return a + b; }
    FOVEA_INLINE friend clamped_positions operator-(clamped_positions const& a, std::integral auto b) {
        auto const n = static_cast<index_t>(b);
        return {a.unclamped - n, wrapped_minus(a.least, n), wrapped_minus(a.greatest, n)};
    }
    FOVEA_INLINE friend clamped_positions<T, Arch, -Step> operator-(std::integral auto b, clamped_positions const& a) {
        auto const n = static_cast<index_t>(b);
        return {n - a.unclamped, wrapped_minus(n, a.greatest), wrapped_minus(n, a.least)};
    }
    FOVEA_INLINE friend clamped_positions<T, Arch, -Step> operator-(clamped_positions const& a) {
        return {-a.unclamped, wrapped_minus(0, a.greatest), wrapped_minus(0, a.least)};
    }

    FOVEA_INLINE friend clamped_positions min(clamped_positions const& a, std::integral auto b) {
        auto const n = static_cast<index_t>(b);
        return {a.unclamped, std::min(a.least, n), std::min(a.greatest, n)};
    }
    FOVEA_INLINE friend clamped_positions max(clamped_positions const& a, std::integral auto b) {
        auto const n = static_cast<index_t>(b);
        return {a.unclamped, std::max(a.least, n), std::max(a.greatest, n)};
    }
    FOVEA_INLINE friend clamped_positions min(std::integral auto b, clamped_positions const& a) { return min(a, b); }
    FOVEA_INLINE friend clamped_positions max(std::integral auto b, clamped_positions const& a) { return max(a, b); }
};

template <class T, class Arch, int Step>
FOVEA_INLINE auto min(positions<T, Arch, Step> a, std::integral auto b) {
    return min(clamped_positions<T, Arch, Step>(a), b);
}
template <class T, class Arch, int Step>
FOVEA_INLINE auto max(positions<T, Arch, Step> a, std::integral auto b) {
    return max(clamped_positions<T, Arch, Step>(a), b);
}
template <class T, class Arch, int Step>
FOVEA_INLINE auto min(std::integral auto b, positions<T, Arch, Step> a) {
    return min(a, b);
}
template <class T, class Arch, int Step>
FOVEA_INLINE auto max(std::integral auto b, positions<T, Arch, Step> a) {
    return max(a, b);
}

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
        return select(m, wide_pack<T, Arch>(a), wide_pack<T, Arch>(b));
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
