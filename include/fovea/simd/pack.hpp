// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vectors of reals, and masks of their lanes.
#pragma once

#include <fovea/simd/registers.hpp>

#include <array>
#include <type_traits>

namespace fovea::FOVEA_SET::kernel {

/// One bool per lane.
template <class T, class Arch>
struct lane_mask {
    typename registers<T, Arch>::mask value;

    FOVEA_INLINE friend lane_mask operator&&(lane_mask const& a, lane_mask const& b) { return {a.value & b.value}; }
    FOVEA_INLINE friend lane_mask operator||(lane_mask const& a, lane_mask const& b) { return {a.value | b.value}; }
    FOVEA_INLINE friend lane_mask operator!(lane_mask const& a) { return {~a.value}; }
    FOVEA_INLINE friend lane_mask operator&&(lane_mask const& a, bool b) { return b ? a : lane_mask::none(); }
    FOVEA_INLINE friend lane_mask operator&&(bool a, lane_mask const& b) { return b && a; }
    FOVEA_INLINE friend lane_mask operator||(lane_mask const& a, bool b) { return b ? lane_mask::all() : a; }
    FOVEA_INLINE friend lane_mask operator||(bool a, lane_mask const& b) { return b || a; }

    FOVEA_INLINE static lane_mask none() {
        typename registers<T, Arch>::vector const zero(T{0});
        return {zero < zero};
    }
    FOVEA_INLINE static lane_mask all() {
        typename registers<T, Arch>::vector const zero(T{0});
        return {zero == zero};
    }
    FOVEA_INLINE bool any() const { return registers<T, Arch>::any(value); }
};

/// A vector of T, float or double. A number as the other operand is broadcast.
template <class T, class Arch>
struct pack {
    using value_type = T;
    using architecture = Arch;
    using operations = registers<T, Arch>;
    using mask = lane_mask<T, Arch>;
    static constexpr index_t lanes = Arch::vector_bytes / static_cast<index_t>(sizeof(T));

    typename operations::vector value;

    pack() = default;
    FOVEA_INLINE pack(typename operations::vector const& v) : value(v) {}
    template <class Number>
        requires std::is_arithmetic_v<Number>
    FOVEA_INLINE pack(Number x) : value(static_cast<T>(x)) {}

    /// Integers, one per lane.
    template <class Integers>
        requires requires(Integers const& i) { i.to_real(); }
    FOVEA_INLINE explicit pack(Integers const& i) : pack(i.to_real()) {}

    FOVEA_INLINE static pack load(T const* from) { return {operations::load(from)}; }
    FOVEA_INLINE void store(T* to) const { operations::store(to, value); }

    /// 0, 1, 2, ...
    FOVEA_INLINE static pack iota() {
        alignas(64) static constexpr auto counted = [] {
            std::array<T, static_cast<std::size_t>(lanes)> c{};
            for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<T>(i);
            return c;
        }();
        return load(counted.data());
    }

    FOVEA_INLINE friend pack operator+(pack const& a, pack const& b) { return {operations::add(a.value, b.value)}; }
    FOVEA_INLINE friend pack operator-(pack const& a, pack const& b) {
        return {operations::subtract(a.value, b.value)};
    }
    FOVEA_INLINE friend pack operator*(pack const& a, pack const& b) {
        return {operations::multiply(a.value, b.value)};
    }
    FOVEA_INLINE friend pack operator/(pack const& a, pack const& b) { return {operations::divide(a.value, b.value)}; }
    FOVEA_INLINE friend pack operator-(pack const& a) { return pack(T{0}) - a; }
    FOVEA_INLINE friend mask operator<(pack const& a, pack const& b) { return {a.value < b.value}; }
    FOVEA_INLINE friend mask operator<=(pack const& a, pack const& b) { return {a.value <= b.value}; }
    FOVEA_INLINE friend mask operator>(pack const& a, pack const& b) { return {b.value < a.value}; }
    FOVEA_INLINE friend mask operator>=(pack const& a, pack const& b) { return {b.value <= a.value}; }
    FOVEA_INLINE friend mask operator==(pack const& a, pack const& b) { return {a.value == b.value}; }

    FOVEA_INLINE friend pack fma(pack const& a, pack const& b, pack const& c) {
        return {operations::fma(a.value, b.value, c.value)};
    }
    /// Minimum and maximum; b where either is NaN: max(next, maximum) leaves NaN out of a running maximum.
    FOVEA_INLINE friend pack min(pack const& a, pack const& b) { return {operations::min(a.value, b.value)}; }
    FOVEA_INLINE friend pack max(pack const& a, pack const& b) { return {operations::max(a.value, b.value)}; }
    FOVEA_INLINE friend pack select(mask const& m, pack const& a, pack const& b) {
        return {operations::select(m.value, a.value, b.value)};
    }
    FOVEA_INLINE friend pack select(bool m, pack const& a, pack const& b) { return m ? a : b; }
    FOVEA_INLINE friend pack abs(pack const& a) { return {operations::abs(a.value)}; }
    FOVEA_INLINE friend pack sqrt(pack const& a) { return {operations::sqrt(a.value)}; }
    /// The largest integer that is not above a, in every rounding mode, for |a| < 2^22 in float and 2^51 in double.
    FOVEA_INLINE friend pack floor(pack const& a) { return {operations::floor(a.value)}; }
    FOVEA_INLINE friend pack square(pack const& a) { return a * a; }
};

/// A pack in a register, its origin hidden from the compiler (an optimization barrier): it is neither read from
/// memory again at each use nor reassociated with other arithmetic (-ffast-math).
template <class T, class Arch>
FOVEA_INLINE pack<T, Arch> opaque(pack<T, Arch> a) {
    registers<T, Arch>::make_opaque(a.value);
    return a;
}
/// A product that is rounded by itself: no compiler contracts it with a sum.
template <class T, class Arch>
FOVEA_INLINE pack<T, Arch> rounded(pack<T, Arch> const& product) {
    return opaque(product);
}

template <class P>
inline constexpr bool is_pack = false;
template <class T, class Arch>
inline constexpr bool is_pack<pack<T, Arch>> = true;

}  // namespace fovea::FOVEA_SET::kernel
