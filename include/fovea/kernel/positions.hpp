// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Indices in lanes: vectors of integers, consecutive positions, or one integer per lane.
#pragma once

#include <fovea/simd/math.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <limits>
#include <utility>

namespace fovea::FOVEA_SET::kernel {

/// Integers, one per lane, as wide as the reals of the same lanes; wide_pack holds values that need more bits.
template <class T, class Arch>
struct index_pack {
    using integers = typename registers<T, Arch>::integers;
    using integer = integer_like<T>;
    using real = pack<T, Arch>;
    static constexpr index_t lanes = real::lanes;
    using array_type = std::array<integer, static_cast<std::size_t>(lanes)>;

    integers value;

    index_pack() = default;
    FOVEA_INLINE index_pack(integers const& v) : value(v) {}
    template <std::integral Number>
    FOVEA_INLINE index_pack(Number x) : value(static_cast<integer>(x)) {}

    /// An index that gives one integer per lane by to_integers().
    template <class Positions>
        requires requires(Positions const& p) { p.to_integers(); }
    FOVEA_INLINE explicit index_pack(Positions const& p) : index_pack(p.to_integers()) {}

    FOVEA_INLINE static index_pack load(integer const* from) { return {registers<integer, Arch>::load(from)}; }
    FOVEA_INLINE array_type array() const {
        alignas(64) array_type elements;
        registers<integer, Arch>::store(elements.data(), value);
        return elements;
    }
    FOVEA_INLINE real to_real() const { return {registers<T, Arch>::to_real(value)}; }

    FOVEA_INLINE friend index_pack operator+(index_pack const& a, index_pack const& b) { return {a.value + b.value}; }
    FOVEA_INLINE friend index_pack operator-(index_pack const& a, index_pack const& b) { return {a.value - b.value}; }
    FOVEA_INLINE friend index_pack operator*(index_pack const& a, index_pack const& b) { return {a.value * b.value}; }
    FOVEA_INLINE friend index_pack operator-(index_pack const& a) { return index_pack(0) - a; }
    /// Rounded toward minus infinity, as the language defines it: not as / and % of C++.
    friend index_pack operator/(index_pack const& a, index_pack const& b) { return each(a, b, floor_divide); }
    friend index_pack operator%(index_pack const& a, index_pack const& b) { return each(a, b, floor_modulo); }

    using mask = lane_mask<T, Arch>;
    FOVEA_INLINE static mask as_mask(auto const& m) { return {registers<T, Arch>::as_mask(m)}; }
    FOVEA_INLINE friend mask operator<(index_pack const& a, index_pack const& b) { return as_mask(a.value < b.value); }
    FOVEA_INLINE friend mask operator>(index_pack const& a, index_pack const& b) { return as_mask(b.value < a.value); }
    FOVEA_INLINE friend mask operator<=(index_pack const& a, index_pack const& b) { return !(b < a); }
    FOVEA_INLINE friend mask operator>=(index_pack const& a, index_pack const& b) { return !(a < b); }
    FOVEA_INLINE friend mask operator==(index_pack const& a, index_pack const& b) {
        return as_mask(a.value == b.value);
    }
    // Compared with a number that no lane can hold, all lanes are less, or none.
    FOVEA_INLINE friend mask operator<(index_pack const& a, std::integral auto b) {
        return holds(b) ? a < index_pack(b) : mask::none() || b > 0;
    }
    FOVEA_INLINE friend mask operator<=(index_pack const& a, std::integral auto b) {
        return holds(b) ? a <= index_pack(b) : mask::none() || b > 0;
    }
    FOVEA_INLINE friend mask operator==(index_pack const& a, std::integral auto b) {
        return holds(b) ? a == index_pack(b) : mask::none();
    }
    FOVEA_INLINE friend mask operator>(index_pack const& a, std::integral auto b) { return !(a <= b); }
    FOVEA_INLINE friend mask operator>=(index_pack const& a, std::integral auto b) { return !(a < b); }
    FOVEA_INLINE friend mask operator<(std::integral auto b, index_pack const& a) { return !(a <= b); }
    FOVEA_INLINE friend mask operator<=(std::integral auto b, index_pack const& a) { return !(a < b); }
    FOVEA_INLINE friend mask operator>(std::integral auto b, index_pack const& a) { return a < b; }
    FOVEA_INLINE friend mask operator>=(std::integral auto b, index_pack const& a) { return a <= b; }
    FOVEA_INLINE friend mask operator==(std::integral auto b, index_pack const& a) { return a == b; }

    FOVEA_INLINE friend index_pack min(index_pack const& a, index_pack const& b) { return select(b < a, b, a); }
    FOVEA_INLINE friend index_pack max(index_pack const& a, index_pack const& b) { return select(a < b, b, a); }
    friend index_pack abs(index_pack const& a) { return max(a, -a); }
    friend index_pack square(index_pack const& a) { return a * a; }
    FOVEA_INLINE friend index_pack select(mask const& m, index_pack const& a, index_pack const& b) {
        return {registers<T, Arch>::as_integers(registers<T, Arch>::select(
            m.value, registers<T, Arch>::as_reals(a.value), registers<T, Arch>::as_reals(b.value)))};
    }

private:
    FOVEA_INLINE static bool holds(std::integral auto b) { return std::in_range<integer>(b); }
    template <class F>
    static index_pack each(index_pack const& a, index_pack const& b, F f) {
        auto x = a.array();
        auto const y = b.array();
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<integer>(f(x[i], y[i]));
        return load(x.data());
    }
};

/// a - b, or the end of the range that it lies beyond.
FOVEA_INLINE index_t distance_between(index_t a, index_t b) {
    index_t distance = 0;
    if (__builtin_sub_overflow(a, b, &distance))
        return a < b ? std::numeric_limits<index_t>::min() : std::numeric_limits<index_t>::max();
    return distance;
}

/// True where a number and the lanes that are counted from it are exact as reals.
template <class T>
constexpr bool adds_exactly(index_t first) {
    constexpr index_t exact = index_t{1} << (std::numeric_limits<T>::digits - 1);
    return -exact < first && first < exact;
}
/// The integer of each lane rounded to a real.
template <class T, class Arch, class Lane>
[[gnu::noinline]] pack<T, Arch> rounded_lanes(Lane const& lane) {
    alignas(64) std::array<T, static_cast<std::size_t>(pack<T, Arch>::lanes)> reals;
    for (std::size_t i = 0; i < reals.size(); ++i) reals[i] = static_cast<T>(lane(static_cast<index_t>(i)));
    return pack<T, Arch>::load(reals.data());
}

/// first, first + Step, first + 2 Step, ...: consecutive positions, of keys or of queries. Step is 1 or -1.
///
/// Stays of this kind when a number is added, so that a table is read with one load where it can be. Comparisons are
/// exact: only the distance to the other number is made a real.
template <class T, class Arch, int Step = 1>
struct positions {
    using real = pack<T, Arch>;
    using mask = lane_mask<T, Arch>;
    static constexpr int step = Step;
    index_t first;

    FOVEA_INLINE index_pack<T, Arch> to_integers() const {
        alignas(64) static constexpr auto counted = [] {
            typename index_pack<T, Arch>::array_type c{};
            for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<integer_like<T>>(Step * static_cast<int>(i));
            return c;
        }();
        return index_pack<T, Arch>(first) + index_pack<T, Arch>::load(counted.data());
    }
    /// Each lane as its own number would be rounded, whichever lane that is.
    FOVEA_INLINE real to_real() const {
        if (!adds_exactly<T>(first)) [[unlikely]]
            return rounded_lanes<T, Arch>([this](index_t lane) { return wrapped_plus(first, Step * lane); });
        if constexpr (Step == 1) return real(first) + real::iota();
        else return real(first) - real::iota();
    }

    /// Lane numbers below, or up to, a distance.
    FOVEA_INLINE static mask lanes_below(index_t distance) {
        return real::iota() < real(std::clamp<index_t>(distance, 0, real::lanes));
    }
    FOVEA_INLINE static mask lanes_up_to(index_t distance) {
        return real::iota() <= real(std::clamp<index_t>(distance, -1, real::lanes));
    }

    FOVEA_INLINE friend positions operator+(positions a, std::integral auto b) {
        return {wrapped_plus(a.first, static_cast<index_t>(b))};
    }
    FOVEA_INLINE friend positions operator+(std::integral auto b, positions a) { return a + b; }
    FOVEA_INLINE friend positions operator-(positions a, std::integral auto b) {
        return {wrapped_minus(a.first, static_cast<index_t>(b))};
    }
    FOVEA_INLINE friend positions<T, Arch, -Step> operator-(std::integral auto b, positions a) {
        return {wrapped_minus(static_cast<index_t>(b), a.first)};
    }
    FOVEA_INLINE friend positions<T, Arch, -Step> operator-(positions a) { return {wrapped_minus(0, a.first)}; }

    FOVEA_INLINE friend mask operator<(positions a, std::integral auto limit) {
        auto const b = static_cast<index_t>(limit);
        if constexpr (Step == 1) return lanes_below(distance_between(b, a.first));
        else return !lanes_up_to(distance_between(a.first, b));
    }
    FOVEA_INLINE friend mask operator<=(positions a, std::integral auto limit) {
        auto const b = static_cast<index_t>(limit);
        if constexpr (Step == 1) return lanes_up_to(distance_between(b, a.first));
        else return !lanes_below(distance_between(a.first, b));
    }
    FOVEA_INLINE friend mask operator>(positions a, std::integral auto b) { return !(a <= b); }
    FOVEA_INLINE friend mask operator>=(positions a, std::integral auto b) { return !(a < b); }
    FOVEA_INLINE friend mask operator<(std::integral auto b, positions a) { return a > b; }
    FOVEA_INLINE friend mask operator<=(std::integral auto b, positions a) { return a >= b; }
    FOVEA_INLINE friend mask operator>(std::integral auto b, positions a) { return a < b; }
    FOVEA_INLINE friend mask operator>=(std::integral auto b, positions a) { return a <= b; }
};

template <class I>
inline constexpr bool is_index_pack = false;
template <class T, class Arch>
inline constexpr bool is_index_pack<index_pack<T, Arch>> = true;
template <class I>
inline constexpr bool is_positions = false;
template <class T, class Arch, int Step>
inline constexpr bool is_positions<positions<T, Arch, Step>> = true;

template <class T, class Arch, int Step>
struct clamped_positions;
template <class I>
inline constexpr bool is_clamped_positions = false;
template <class T, class Arch, int Step>
inline constexpr bool is_clamped_positions<clamped_positions<T, Arch, Step>> = true;

template <class T, class Arch>
struct wide_pack;
template <class T, class Arch>
struct either_integer;
template <class I>
inline constexpr bool is_exact_pack = false;
template <class T, class Arch>
inline constexpr bool is_exact_pack<wide_pack<T, Arch>> = true;
template <class I>
inline constexpr bool is_either_integer = false;
template <class T, class Arch>
inline constexpr bool is_either_integer<either_integer<T, Arch>> = true;

/// Anything that holds one integer per lane.
template <class I>
concept lane_indices =
    is_index_pack<I> || is_positions<I> || is_clamped_positions<I> || is_exact_pack<I> || is_either_integer<I>;

template <lane_indices I>
FOVEA_INLINE auto to_integers(I const& i) {
    if constexpr (is_positions<I> || is_clamped_positions<I>) return i.to_integers();
    else if constexpr (is_either_integer<I>) return exact_of(i);
    else return i;
}
template <std::integral I>
FOVEA_INLINE index_t to_integers(I i) {
    return static_cast<index_t>(i);
}

}  // namespace fovea::FOVEA_SET::kernel
