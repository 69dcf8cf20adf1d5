// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AVX2 and FMA: the vectors, elements widened and narrowed, transposition, lanes in reverse order, row sums.
#pragma once

#include <fovea/simd/integer_products.hpp>
#include <fovea/simd/storage.hpp>

#if defined(__x86_64__)

namespace fovea::FOVEA_SET::kernel {

template <>
struct xsimd_arch<arch::avx2> {
    using type = xsimd::fma3<xsimd::avx2>;
};

template <class T>
struct registers<T, arch::avx2> : generic_registers<T, arch::avx2> {
    using vector = typename generic_registers<T, arch::avx2>::vector;

    FOVEA_INLINE static vector fma(vector const& a, vector const& b, vector const& c) {
        if constexpr (sizeof(T) == 4) return _mm256_fmadd_ps(a.data, b.data, c.data);
        else return _mm256_fmadd_pd(a.data, b.data, c.data);
    }
};

template <std::same_as<arch::avx2> Arch>
struct widening<Arch> {
    using integers = typename registers<float, Arch>::integers;

    FOVEA_INLINE static integers widen(std::uint16_t const* from) {
        return integers(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<__m128i const*>(from))));
    }
    FOVEA_INLINE static integers widen(std::int8_t const* from) {
        return integers(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<__m128i const*>(from))));
    }
    FOVEA_INLINE static void narrow(integers const& a, std::uint16_t* to) {
        auto const halves = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.data, a.data), 0x08);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(halves));
    }
};

#if defined(__F16C__)
template <widens Arch>
    requires std::same_as<Arch, arch::avx2>
struct storage<float16, float, Arch> {
    using vector = pack<float, Arch>;

    FOVEA_INLINE static vector load(float16 const* from) {
        return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<__m128i const*>(from)))};
    }
    FOVEA_INLINE static vector load_in_all_lanes(float16 x) {
        return {_mm256_cvtph_ps(_mm_set1_epi16(static_cast<short>(x.bits)))};
    }
    FOVEA_INLINE static void store(vector const& a, float16* to) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                         _mm256_cvtps_ph(a.value.data, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
};
#endif

template <class T>
    requires(sizeof(T) == 4)
struct lanes_of<T, arch::avx2> : generic_lanes<T, arch::avx2> {
    using vector = pack<T, arch::avx2>;
    static constexpr index_t count = vector::lanes;

    FOVEA_INLINE static vector reversed(vector const& a) {
        return {_mm256_permutevar8x32_ps(a.value.data, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0))};
    }
    /// Each step joins two vectors: sums of two, then of four neighbours, then of the halves.
    FOVEA_INLINE static vector sums_of_rows(c_array<vector, count>& rows) {
        __m256 pairs[4], fours[2];
        for (int i = 0; i < 4; ++i) {
            auto const a = rows[2 * i].value.data, b = rows[2 * i + 1].value.data;
            pairs[i] = _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        }
        for (int i = 0; i < 2; ++i)
            fours[i] = _mm256_add_ps(_mm256_shuffle_ps(pairs[2 * i], pairs[2 * i + 1], 0x44),
                                     _mm256_shuffle_ps(pairs[2 * i], pairs[2 * i + 1], 0xee));
        return {_mm256_add_ps(_mm256_permute2f128_ps(fours[0], fours[1], 0x20),
                              _mm256_permute2f128_ps(fours[0], fours[1], 0x31))};
    }

    /// Pairs of rows are interleaved by one element, then by two, then halves are exchanged.
    FOVEA_INLINE static void transpose(c_array<vector, count>& rows) {
        __m256 pairs[8], fours[8];
        for (int i = 0; i < 8; i += 2) {
            pairs[i] = _mm256_unpacklo_ps(rows[i].value.data, rows[i + 1].value.data);
            pairs[i + 1] = _mm256_unpackhi_ps(rows[i].value.data, rows[i + 1].value.data);
        }
        for (int i = 0; i < 8; i += 4)
            for (int j = 0; j < 2; ++j) {
                fours[i + 2 * j] = _mm256_shuffle_ps(pairs[i + j], pairs[i + j + 2], 0x44);
                fours[i + 2 * j + 1] = _mm256_shuffle_ps(pairs[i + j], pairs[i + j + 2], 0xee);
            }
        for (int j = 0; j < 4; ++j) {
            rows[j] = vector(_mm256_permute2f128_ps(fours[j], fours[j + 4], 0x20));
            rows[j + 4] = vector(_mm256_permute2f128_ps(fours[j], fours[j + 4], 0x31));
        }
    }
};

template <std::same_as<arch::avx2> Arch>
struct integer_products<Arch> {
    using vector = pack<float, Arch>;
    static constexpr bool of_signed = false;

    template <int Words, class Row>
    FOVEA_INLINE static void columns(Row const& row, vector* to) {
        unrolled<Words / 4>([&](auto half) FOVEA_LAMBDA {
            __m256 rows[4];
            unrolled<4>([&](auto i) FOVEA_LAMBDA {
                auto const quarter = [&](index_t n) FOVEA_LAMBDA {
                    return _mm_loadu_ps(reinterpret_cast<float const*>(row(i + n) + half * 16));
                };
                rows[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(quarter(0)), quarter(4), 1);
            });
            __m256d const low_0 = _mm256_castps_pd(_mm256_unpacklo_ps(rows[0], rows[1])),
                          high_0 = _mm256_castps_pd(_mm256_unpackhi_ps(rows[0], rows[1])),
                          low_1 = _mm256_castps_pd(_mm256_unpacklo_ps(rows[2], rows[3])),
                          high_1 = _mm256_castps_pd(_mm256_unpackhi_ps(rows[2], rows[3]));
            to[4 * half] = {_mm256_castpd_ps(_mm256_unpacklo_pd(low_0, low_1))};
            to[4 * half + 1] = {_mm256_castpd_ps(_mm256_unpackhi_pd(low_0, low_1))};
            to[4 * half + 2] = {_mm256_castpd_ps(_mm256_unpacklo_pd(high_0, high_1))};
            to[4 * half + 3] = {_mm256_castpd_ps(_mm256_unpackhi_pd(high_0, high_1))};
        });
    }
    FOVEA_INLINE static vector add_products(vector const& a, vector const& b, vector const& sum) {
        auto const first = _mm256_castps_si256(a.value.data), second = _mm256_castps_si256(b.value.data);
        auto const before = _mm256_castps_si256(sum.value.data);
#if defined(__AVXVNNI__)
        return {_mm256_castsi256_ps(_mm256_dpbusd_avx_epi32(before, first, second))};
#elif defined(__AVX512VNNI__) && defined(__AVX512VL__)
        return {_mm256_castsi256_ps(_mm256_dpbusd_epi32(before, first, second))};
#else
        auto const even = _mm256_madd_epi16(_mm256_and_si256(first, _mm256_set1_epi16(0xff)),
                                            _mm256_srai_epi16(_mm256_slli_epi16(second, 8), 8));
        auto const odd = _mm256_madd_epi16(_mm256_srli_epi16(first, 8), _mm256_srai_epi16(second, 8));
        return {_mm256_castsi256_ps(_mm256_add_epi32(before, _mm256_add_epi32(even, odd)))};
#endif
    }
};

}  // namespace fovea::FOVEA_SET::kernel
#endif
