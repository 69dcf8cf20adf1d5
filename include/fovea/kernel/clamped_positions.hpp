// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Consecutive positions held between two numbers: what a table of distances is read at.
#pragma once

#include <fovea/kernel/positions.hpp>

#include <algorithm>
#include <concepts>

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

}  // namespace fovea::FOVEA_SET::kernel
