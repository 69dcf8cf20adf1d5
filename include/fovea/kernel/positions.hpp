// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The indices that expressions take in lanes: consecutive positions, or one integer per lane.
#pragma once

#include <fovea/simd/index_pack.hpp>

#include <algorithm>
#include <concepts>
#include <limits>

namespace fovea::FOVEA_SET::kernel {

/// a - b, or the end of the range that it lies beyond.
FOVEA_INLINE index_t distance_between(index_t a, index_t b) {
    index_t distance = 0;
    if (__builtin_sub_overflow(a, b, &distance))
        return a < b ? std::numeric_limits<index_t>::min() : std::numeric_limits<index_t>::max();
    return distance;
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
    FOVEA_INLINE real to_real() const {
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

template <class I>
inline constexpr bool is_exact_pack = false;

/// Anything that holds one integer per lane.
template <class I>
concept lane_indices = is_index_pack<I> || is_positions<I> || is_exact_pack<I>;

template <lane_indices I>
FOVEA_INLINE auto to_integers(I const& i) {
    if constexpr (is_positions<I>) return i.to_integers();
    else return i;
}
template <std::integral I>
FOVEA_INLINE index_t to_integers(I i) {
    return static_cast<index_t>(i);
}

}  // namespace fovea::FOVEA_SET::kernel
