// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations across and within lanes. simd/arch/ overrides the portable versions where an architecture has faster ones,
// by partial specializations on the architecture.
#pragma once

#include <fovea/simd/pack.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

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

    /// The lanes in reverse order.
    FOVEA_INLINE static vector reversed(vector const& a) {
        auto elements = to_array(a);
        std::reverse(elements.begin(), elements.end());
        return vector::load(elements.data());
    }

    /// Lane i is the sum of rows[i]; overwrites the rows.
    FOVEA_INLINE static vector row_sums(c_array<vector, count>& rows) {
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
