// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packs: vectors of reals, masks of their lanes, and operations across and within lanes. simd/arch/ overrides the
// portable versions where an architecture has faster ones, by partial specializations on the architecture.
#pragma once

#include <fovea/simd/registers.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
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
    /// Minimum and maximum; as in std::max, a where either is NaN: max(maximum, next) leaves NaN out of a running one.
    FOVEA_INLINE friend pack min(pack const& a, pack const& b) { return {operations::min(b.value, a.value)}; }
    FOVEA_INLINE friend pack max(pack const& a, pack const& b) { return {operations::max(b.value, a.value)}; }
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

/// lanes_of: the operations on the lanes of a pack, as an architecture does them best.
template <class T, class Arch>
struct lanes_of;

/// The portable versions.
template <class T, class Arch>
struct generic_lanes {
    using vector = pack<T, Arch>;
    using bits = registers<T, Arch>;
    static constexpr index_t count = vector::lanes;
    using array = std::array<T, static_cast<std::size_t>(count)>;
    static constexpr int mantissa = sizeof(T) == 4 ? 23 : 52;

    FOVEA_INLINE static array to_array(vector const& a) {
        alignas(64) array elements;
        a.store(elements.data());
        return elements;
    }

    /// The sum of all lanes, always added in the same order.
    FOVEA_INLINE static T sum(vector const& a) {
        auto e = to_array(a);
        for (std::size_t step = e.size() / 2; step > 0; step /= 2)
            for (std::size_t i = 0; i < step; ++i) e[i] += e[i + step];
        return e[0];
    }

    /// The maximum of all lanes.
    FOVEA_INLINE static T max(vector const& a) {
        auto e = to_array(a);
        for (std::size_t step = e.size() / 2; step > 0; step /= 2)
            for (std::size_t i = 0; i < step; ++i) e[i] = e[i] > e[i + step] ? e[i] : e[i + step];
        return e[0];
    }

    /// The first `n` elements, zeros after them; reads nothing past them.
    FOVEA_INLINE static vector load(T const* from, index_t n) {
        alignas(64) array elements{};
        std::copy_n(from, std::min(n, count), elements.begin());
        return vector::load(elements.data());
    }

    /// Writes the first `n` elements and nothing past them.
    FOVEA_INLINE static void store(vector const& a, T* to, index_t n) {
        auto const elements = to_array(a);
        std::copy_n(elements.begin(), std::min(n, count), to);
    }

    /// Stores the lanes that are not less than a limit contiguously (compress-store) and returns their number; may
    /// overwrite a whole pack.
    FOVEA_INLINE static index_t compress_not_less(T limit, vector const& a, T* to) {
        if (!(!(a < vector(limit))).any()) return 0;
        index_t kept = 0;
        for (T const element : to_array(a)) {  // no branch depends on an element
            to[kept] = element;
            kept += !(element < limit);
        }
        return kept;
    }

    /// True where scale(a, n) is a * 2^floor(n) for every n, also where the result is 0, subnormal or inf, and
    /// fraction() exists; elsewhere neither does.
    static constexpr bool scales_any_exponent = false;

    /// 2^n for integral n: 0 one below the least exponent of a normal number, inf one above the largest.
    FOVEA_INLINE static vector two_to(vector const& n) {
        constexpr T bias = sizeof(T) == 4 ? 127 : 1023;
        auto const exponent = bits::as_integers((n + (rounding_constant<T> + bias)).value);
        return {bits::as_reals(bits::template shift_left<mantissa>(exponent))};
    }

    /// 1 / a, correctly rounded; an override may be off by a unit in the last place, and give NaN for zeros and
    /// infinities.
    FOVEA_INLINE static vector reciprocal(vector const& a) { return vector(T{1}) / a; }
    /// a / b, correctly rounded; an override may multiply by the reciprocal.
    FOVEA_INLINE static vector quotient(vector const& a, vector const& b) { return a / b; }

    /// Transposes a square matrix in place, one row in each vector.
    FOVEA_INLINE static void transpose(c_array<vector, count>& rows) {
        constexpr auto n = static_cast<std::size_t>(count);
        alignas(64) std::array<T, n * n> elements;
        for (std::size_t i = 0; i < n; ++i) {
            auto const row = to_array(rows[i]);
            for (std::size_t j = 0; j < n; ++j) elements[j * n + i] = row[j];
        }
        for (std::size_t i = 0; i < n; ++i) rows[i] = vector::load(elements.data() + i * n);
    }

    /// A mask of bits, the first lane's the least.
    FOVEA_INLINE static lane_mask<T, Arch> mask_of_bits(std::uint32_t all) {
        using integers = typename bits::integers;
        if constexpr (requires(integers const& a) { a & a; }) {
            using integer = integer_like<T>;
            alignas(64) static constexpr auto of_lanes = [] {
                std::array<integer, static_cast<std::size_t>(count)> c{};
                for (std::size_t i = 0; i < c.size(); ++i) c[i] = integer{1} << i;
                return c;
            }();
            auto const own = registers<integer, Arch>::load(of_lanes.data());
            return {bits::as_mask((integers(static_cast<integer>(all)) & own) == own)};
        } else {
            alignas(64) array numbers;
            for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<T>(all >> i & 1);
            return vector(T{0}) < vector::load(numbers.data());
        }
    }

    /// The lanes in reverse order.
    FOVEA_INLINE static vector reversed(vector const& a) {
        auto elements = to_array(a);
        std::reverse(elements.begin(), elements.end());
        return vector::load(elements.data());
    }

    /// Lane i is the sum of rows[i]; overwrites the rows.
    FOVEA_INLINE static vector sums_of_rows(c_array<vector, count>& rows) {
        lanes_of<T, Arch>::transpose(rows);
        for (index_t step = count / 2; step > 0; step /= 2)
            for (index_t i = 0; i < step; ++i) rows[i] = rows[i] + rows[i + step];
        return rows[0];
    }

    /// The elements at the given offsets.
    template <class From, class Offset>
    FOVEA_INLINE static vector gather(From const* from, Offset const* offsets) {
        alignas(64) array elements;
        for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<T>(from[offsets[i]]);
        return vector::load(elements.data());
    }
};

template <class T, class Arch>
struct lanes_of : generic_lanes<T, Arch> {};

}  // namespace fovea::FOVEA_SET::kernel
