// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What AVX-512 does with groups of lanes: permutations of halves, quarters and single lanes in one instruction.
#pragma once

#include <fovea/kernel/lane_groups.hpp>

#include <concepts>

#if defined(__x86_64__)

namespace fovea::FOVEA_SET::kernel {

template <class T, std::derived_from<arch::avx512> Arch>
struct lane_groups_of<T, Arch> : generic_lane_groups<T, Arch> {
    using vector = pack<T, Arch>;
    using integers = index_pack<T, Arch>;
    static constexpr bool single = sizeof(T) == 4;
    static constexpr index_t count = vector::lanes;

    FOVEA_INLINE static vector permuted(vector const& a, integers const& from) {
        if constexpr (single) return {_mm512_permutexvar_ps(from.value.data, a.value.data)};
        else return {_mm512_permutexvar_pd(from.value.data, a.value.data)};
    }
    FOVEA_INLINE static vector rotated(vector const& a, index_t n) {
        integers const from = lanes_shifted<T, Arch>(0) + integers(n);
        return permuted(a, from);  // the instruction reads only the low bits of an index
    }
    FOVEA_INLINE static vector repeated(T const* from, index_t n) {
        if (n >= count) return vector::load(from);
        if constexpr (single) {
            if (n == 8) return {_mm512_castpd_ps(_mm512_broadcast_f64x4(_mm256_castps_pd(_mm256_loadu_ps(from))))};
            if (n == 4) return {_mm512_broadcast_f32x4(_mm_loadu_ps(from))};
        } else {
            if (n == 4) return {_mm512_broadcast_f64x4(_mm256_loadu_pd(from))};
        }
        return generic_lane_groups<T, Arch>::repeated(from, n);
    }

    template <class Place>
    FOVEA_INLINE static vector gathered(Place const& place, index_t n) {
        if (n != count / 2) return generic_lane_groups<T, Arch>::gathered(place, n);
        if constexpr (single) {
            auto const half = [&](index_t i) FOVEA_LAMBDA { return _mm256_castps_pd(_mm256_loadu_ps(place(i))); };
            return {_mm512_castpd_ps(_mm512_insertf64x4(_mm512_castpd256_pd512(half(0)), half(1), 1))};
        } else {
            return {
                _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(place(0))), _mm256_loadu_pd(place(1)), 1)};
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
            return {_mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee))};
        else if constexpr (Group == 8)
            return {_mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd))};
        else if constexpr (Group == 4)
            return {_mm512_add_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee))};
        else return {_mm512_add_ps(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd))};
    }
};

}  // namespace fovea::FOVEA_SET::kernel
#endif
