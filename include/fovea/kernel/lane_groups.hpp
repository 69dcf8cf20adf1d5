// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations on vectors whose lanes form groups of equal size, a power of two: portable, and in AVX-512, whose
// permutations are one instruction.
#pragma once

#include <concepts>

#include <fovea/kernel/positions.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

/// The portable versions.
template <class T, class Arch>
struct generic_lane_groups {
    using vector = pack<T, Arch>;
    using lane_operations = lanes_of<T, Arch>;
    static constexpr index_t count = vector::lanes;
    static constexpr auto size = static_cast<std::size_t>(count);

    /// The sums of groups of `Group` adjacent lanes of `Group` vectors: those of the first vector, then of the next.
    template <std::size_t Group>
    FOVEA_INLINE static vector sums(vector (&parts)[Group]) {
        if constexpr (Group == size) {
            lane_operations::transpose(parts);
            for (std::size_t step = size / 2; step > 0; step /= 2)
                for (std::size_t i = 0; i < step; ++i) parts[i] = parts[i] + parts[i + step];
            return parts[0];
        } else {
            alignas(64) std::array<T, Group * size> all;
            for (std::size_t i = 0; i < Group; ++i) parts[i].store(all.data() + i * size);
            for (std::size_t step = Group / 2; step > 0; step /= 2)
                for (std::size_t i = 0; i < size; ++i)
                    for (std::size_t j = 0; j < step; ++j) all[i * Group + j] += all[i * Group + j + step];
            for (std::size_t i = 0; i < size; ++i) all[i] = all[i * Group];
            return vector::load(all.data());
        }
    }

    /// Lane l takes the value of lane from[l].
    FOVEA_INLINE static vector permuted(vector const& a, index_pack<T, Arch> const& from) {
        auto const elements = lane_operations::to_array(a);
        auto const at = from.array();
        alignas(64) typename lane_operations::array result;
        for (std::size_t i = 0; i < size; ++i) result[i] = elements[static_cast<std::size_t>(at[i])];
        return vector::load(result.data());
    }

    /// Lane l takes the value of lane (l + n) mod lanes; n is less than the number of lanes.
    FOVEA_INLINE static vector rotated(vector const& a, index_t n) {
        auto const elements = lane_operations::to_array(a);
        alignas(64) typename lane_operations::array result;
        for (std::size_t i = 0; i < size; ++i) result[i] = elements[(i + static_cast<std::size_t>(n)) % size];
        return vector::load(result.data());
    }

    /// n elements, n a power of two, repeated to fill the vector; the first `lanes` of them where n is larger.
    FOVEA_INLINE static vector repeated(T const* from, index_t n) {
        if (n >= count) return vector::load(from);
        alignas(64) typename lane_operations::array all;
        for (index_t i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = from[i & (n - 1)];
        return vector::load(all.data());
    }

    /// n elements, n a power of two, from each of place(0), place(1), ... until the vector is full.
    template <class Place>
    FOVEA_INLINE static vector gathered(Place const& place, index_t n) {
        if (n >= count) return vector::load(place(0));
        alignas(64) typename lane_operations::array all;
        for (index_t i = 0; i < count; i += n) {
            T const* const from = place(i / n);
            for (index_t j = 0; j < n; ++j) all[static_cast<std::size_t>(i + j)] = from[j];
        }
        return vector::load(all.data());
    }
};

/// lane_groups_of: the operations on lane groups, as an architecture does them best.
template <class T, class Arch>
struct lane_groups_of : generic_lane_groups<T, Arch> {};

/// Lanes l, l + n, l + 2 n and so on joined by f, in the same order for all; n is a power of two.
template <class T, class Arch, class F>
FOVEA_INLINE pack<T, Arch> over_groups(pack<T, Arch> all, index_t n, F const& f) {
    for (index_t distance = pack<T, Arch>::lanes / 2; distance >= n; distance /= 2)
        all = f(all, lane_groups_of<T, Arch>::rotated(all, distance));
    return all;
}
template <class T, class Arch>
FOVEA_INLINE pack<T, Arch> sum_over_groups(pack<T, Arch> const& all, index_t n) {
    return over_groups<T, Arch>(all, n, [](auto const& a, auto const& b) FOVEA_LAMBDA { return a + b; });
}

/// f(l, shift) in lane l, from a table of all shifts.
template <class T, class Arch, class F>
FOVEA_INLINE index_pack<T, Arch> lane_table(int shift, F) {
    using integers = index_pack<T, Arch>;
    constexpr int steps = std::countr_zero(static_cast<unsigned>(integers::lanes));
    alignas(64) static constexpr auto table = [] {
        std::array<typename integers::array_type, static_cast<std::size_t>(steps) + 1> all{};
        for (std::size_t s = 0; s < all.size(); ++s)
            for (std::size_t l = 0; l < all[s].size(); ++l)
                all[s][l] = static_cast<typename integers::integer>(F{}(l, s));
        return all;
    }();
    return integers::load(table[static_cast<std::size_t>(std::min(shift, steps))].data());
}

/// l / 2^shift in lane l.
template <class T, class Arch>
FOVEA_INLINE index_pack<T, Arch> lanes_shifted(int shift) {
    return lane_table<T, Arch>(shift, [](std::size_t lane, std::size_t s) { return lane >> s; });
}

/// l mod 2^shift in lane l.
template <class T, class Arch>
FOVEA_INLINE index_pack<T, Arch> lanes_masked(int shift) {
    return lane_table<T, Arch>(shift,
                               [](std::size_t lane, std::size_t s) { return lane & ((std::size_t{1} << s) - 1); });
}

}  // namespace fovea::FOVEA_SET::kernel

#if defined(__x86_64__)

namespace fovea::FOVEA_SET::kernel {

template <class T, std::derived_from<arch::avx512> Arch>
struct lane_groups_of<T, Arch> : generic_lane_groups<T, Arch> {
    using vector = pack<T, Arch>;
    using integers = index_pack<T, Arch>;
    static constexpr bool single = sizeof(T) == 4;
    static constexpr index_t count = vector::lanes;

    FOVEA_INLINE static vector permuted(vector const& a, integers const& from) {
        if constexpr (single) return {_mm512_maskz_permutexvar_ps(all_16, from.value.data, a.value.data)};
        else return {_mm512_maskz_permutexvar_pd(all_8, from.value.data, a.value.data)};
    }
    FOVEA_INLINE static vector rotated(vector const& a, index_t n) {
        integers const from = lanes_shifted<T, Arch>(0) + integers(n);
        return permuted(a, from);  // the instruction reads only the low bits of an index
    }
    FOVEA_INLINE static vector repeated(T const* from, index_t n) {
        if (n >= count) return vector::load(from);
        if constexpr (single) {
            if (n == 8)
                return {_mm512_castpd_ps(_mm512_maskz_broadcast_f64x4(all_8, _mm256_castps_pd(_mm256_loadu_ps(from))))};
            if (n == 4) return {_mm512_maskz_broadcast_f32x4(all_16, _mm_loadu_ps(from))};
        } else {
            if (n == 4) return {_mm512_maskz_broadcast_f64x4(all_8, _mm256_loadu_pd(from))};
        }
        return generic_lane_groups<T, Arch>::repeated(from, n);
    }

    template <class Place>
    FOVEA_INLINE static vector gathered(Place const& place, index_t n) {
        if (n != count / 2) return generic_lane_groups<T, Arch>::gathered(place, n);
        if constexpr (single) {
            auto const half = [&](index_t i) FOVEA_LAMBDA { return _mm256_castps_pd(_mm256_loadu_ps(place(i))); };
            return {_mm512_castpd_ps(_mm512_maskz_insertf64x4(all_8, _mm512_castpd256_pd512(half(0)), half(1), 1))};
        } else {
            return {_mm512_maskz_insertf64x4(all_8, _mm512_castpd256_pd512(_mm256_loadu_pd(place(0))),
                                             _mm256_loadu_pd(place(1)), 1)};
        }
    }

    template <std::size_t Group>
    FOVEA_INLINE static vector sums(vector (&parts)[Group]) {
        if constexpr (single && Group > 1) {
            alignas(64) static constexpr auto order = [] {  // quarters hold one group of each of 4 vectors, or 2 of 2
                std::array<std::int32_t, 16> from{};
                constexpr std::size_t vectors = Group < 4 ? Group : 4, of_one = 4 / vectors;
                for (std::size_t v = 0; v < vectors; ++v)
                    for (std::size_t q = 0; q < 4; ++q)
                        for (std::size_t g = 0; g < of_one; ++g)
                            from[(v * 4 + q) * of_one + g] = static_cast<std::int32_t>(4 * q + v * of_one + g);
                return from;
            }();
            return permuted(halved<Group>(parts), integers::load(order.data()));
        } else {
            return generic_lane_groups<T, Arch>::sums(parts);
        }
    }

private:
    /// Two vectors become one, the halves of their groups added, until groups are single lanes. The order of the groups
    /// stays until they lie within a quarter.
    template <std::size_t Group>
    FOVEA_INLINE static vector halved(vector (&parts)[Group]) {
        if constexpr (Group == 1) {
            return parts[0];
        } else {
            vector half[Group / 2];
            for (std::size_t i = 0; i < Group / 2; ++i)
                half[i] = paired<Group>(parts[2 * i].value.data, parts[2 * i + 1].value.data);
            return halved<Group / 2>(half);
        }
    }
    template <std::size_t Group>
    FOVEA_INLINE static vector paired(__m512 a, __m512 b) {
        if constexpr (Group == 16)
            return {_mm512_add_ps(_mm512_maskz_shuffle_f32x4(all_16, a, b, 0x44),
                                  _mm512_maskz_shuffle_f32x4(all_16, a, b, 0xee))};
        else if constexpr (Group == 8)
            return {_mm512_add_ps(_mm512_maskz_shuffle_f32x4(all_16, a, b, 0x88),
                                  _mm512_maskz_shuffle_f32x4(all_16, a, b, 0xdd))};
        else if constexpr (Group == 4)
            return {_mm512_add_ps(_mm512_maskz_shuffle_ps(all_16, a, b, 0x44),
                                  _mm512_maskz_shuffle_ps(all_16, a, b, 0xee))};
        else
            return {_mm512_add_ps(_mm512_maskz_shuffle_ps(all_16, a, b, 0x88),
                                  _mm512_maskz_shuffle_ps(all_16, a, b, 0xdd))};
    }
};

}  // namespace fovea::FOVEA_SET::kernel
#endif
