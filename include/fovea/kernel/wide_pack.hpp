// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integers of 64 bits in lanes, for expressions whose values need more than 32.
#pragma once

#include <fovea/kernel/index_arithmetic.hpp>

namespace fovea::FOVEA_SET::kernel {

/// Lanes of any kind as integers of 64 bits.
template <class T, class Arch>
FOVEA_INLINE auto exact_lanes(index_pack<T, Arch> const& indices) {
    typename wide_pack<T, Arch>::array_type exact;
    auto const narrow = indices.array();
    for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = static_cast<index_t>(narrow[i]);
    return exact;
}
template <class T, class Arch, int Step>
FOVEA_INLINE auto exact_lanes(clamped_positions<T, Arch, Step> const& keys) {
    typename wide_pack<T, Arch>::array_type exact;
    for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = keys.lane(static_cast<index_t>(i));
    return exact;
}
template <class T, class Arch, int Step>
FOVEA_INLINE auto exact_lanes(positions<T, Arch, Step> const& keys) {
    typename wide_pack<T, Arch>::array_type exact;
    for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = wrapped_plus(keys.first, Step * static_cast<index_t>(i));
    return exact;
}

/// One of two integers in each lane, which need not be as narrow as a lane.
template <class T, class Arch>
struct either_integer {
    using real = pack<T, Arch>;
    using mask = lane_mask<T, Arch>;
    mask takes_first;
    index_t first, second;

    FOVEA_INLINE real to_real() const {
        return select(takes_first, real(static_cast<T>(first)), real(static_cast<T>(second)));
    }
};
template <class T, class Arch>
FOVEA_INLINE auto exact_lanes(either_integer<T, Arch> const& either) {
    typename wide_pack<T, Arch>::array_type exact;
    auto const takes_first =
        lanes_of<T, Arch>::to_array(select(either.takes_first, pack<T, Arch>(T{1}), pack<T, Arch>(T{0})));
    for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = takes_first[i] != T{0} ? either.first : either.second;
    return exact;
}

/// Integers of 64 bits, one per lane of reals of any width: computed one after the other, where those of index_pack are
/// too narrow for the values of an expression.
template <class T, class Arch>
struct wide_pack {
    using real = pack<T, Arch>;
    using mask = lane_mask<T, Arch>;
    static constexpr index_t lanes = real::lanes;
    using array_type = std::array<index_t, static_cast<std::size_t>(lanes)>;

    array_type lane;

    wide_pack() = default;
    wide_pack(array_type const& elements) : lane(elements) {}
    template <std::integral Number>
    wide_pack(Number x) {
        lane.fill(static_cast<index_t>(x));
    }
    template <class Indices>
        requires is_index_pack<Indices> || any_positions<Indices> || is_either_integer<Indices>
    wide_pack(Indices const& i) : lane(exact_lanes(i)) {}

    array_type const& array() const { return lane; }
    real to_real() const {
        alignas(64) std::array<T, static_cast<std::size_t>(lanes)> reals;
        for (std::size_t i = 0; i < reals.size(); ++i) reals[i] = static_cast<T>(lane[i]);
        return real::load(reals.data());
    }

    friend wide_pack operator+(wide_pack const& a, wide_pack const& b) { return each(a, b, wrapped_plus); }
    friend wide_pack operator-(wide_pack const& a, wide_pack const& b) { return each(a, b, wrapped_minus); }
    friend wide_pack operator*(wide_pack const& a, wide_pack const& b) { return each(a, b, wrapped_times); }
    /// Rounded toward minus infinity, as the language defines it: not as / and % of C++.
    friend wide_pack operator/(wide_pack const& a, wide_pack const& b) { return each(a, b, floor_divide); }
    friend wide_pack operator%(wide_pack const& a, wide_pack const& b) { return each(a, b, floor_modulo); }
    friend wide_pack operator-(wide_pack const& a) { return wide_pack(0) - a; }
    friend mask operator<(wide_pack const& a, wide_pack const& b) {
        return test(a, b, [](index_t x, index_t y) { return x < y; });
    }
    friend mask operator==(wide_pack const& a, wide_pack const& b) {
        return test(a, b, [](index_t x, index_t y) { return x == y; });
    }
    friend mask operator>(wide_pack const& a, wide_pack const& b) { return b < a; }
    friend mask operator<=(wide_pack const& a, wide_pack const& b) { return !(b < a); }
    friend mask operator>=(wide_pack const& a, wide_pack const& b) { return !(a < b); }
    friend wide_pack min(wide_pack const& a, wide_pack const& b) {
        return each(a, b, [](index_t x, index_t y) { return std::min(x, y); });
    }
    friend wide_pack max(wide_pack const& a, wide_pack const& b) {
        return each(a, b, [](index_t x, index_t y) { return std::max(x, y); });
    }
    friend wide_pack abs(wide_pack const& a) { return max(a, -a); }
    friend wide_pack square(wide_pack const& a) { return a * a; }
    friend wide_pack select(mask const& m, wide_pack const& a, wide_pack const& b) {
        auto const first = lanes_of<T, Arch>::to_array(select(m, real(T{1}), real(T{0})));
        auto chosen = b;
        for (std::size_t i = 0; i < first.size(); ++i)
            if (first[i] != T{0}) chosen.lane[i] = a.lane[i];
        return chosen;
    }

private:
    template <class F>
    static wide_pack each(wide_pack a, wide_pack const& b, F f) {
        for (std::size_t i = 0; i < a.lane.size(); ++i) a.lane[i] = f(a.lane[i], b.lane[i]);
        return a;
    }
    template <class F>
    static mask test(wide_pack const& a, wide_pack const& b, F f) {
        alignas(64) std::array<T, static_cast<std::size_t>(lanes)> holds;
        for (std::size_t i = 0; i < holds.size(); ++i) holds[i] = f(a.lane[i], b.lane[i]) ? T{1} : T{0};
        return real(T{0}) < real::load(holds.data());
    }
};

template <class T, class Arch>
FOVEA_INLINE wide_pack<T, Arch> exact_of(either_integer<T, Arch> const& either) {
    return wide_pack<T, Arch>(either);
}

/// The low half of each integer: 32 bits beside floats.
template <class T, class Arch>
FOVEA_INLINE index_pack<T, Arch> low_halves(either_integer<T, Arch> const& either) {
    return select(either.takes_first, index_pack<T, Arch>(either.first), index_pack<T, Arch>(either.second));
}
template <class T, class Arch>
index_pack<T, Arch> low_halves(wide_pack<T, Arch> const& exact) {
    typename index_pack<T, Arch>::array_type low;
    for (std::size_t i = 0; i < low.size(); ++i) low[i] = static_cast<integer_like<T>>(exact.lane[i]);
    return index_pack<T, Arch>::load(low.data());
}

}  // namespace fovea::FOVEA_SET::kernel
