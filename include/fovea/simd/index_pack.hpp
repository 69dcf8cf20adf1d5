// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vectors of integers, as wide as the vectors of reals beside them.
#pragma once

#include <fovea/simd/math.hpp>

#include <array>
#include <concepts>
#include <utility>

namespace fovea::FOVEA_SET::kernel {

/// Integers, one per lane, as wide as the reals of the same lanes; exact_pack holds values that need more bits.
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

    /// What gives one integer per lane by to_integers().
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

}  // namespace fovea::FOVEA_SET::kernel
