// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AVX-512: the vectors, elements widened and narrowed, masked loads and stores, compression, scaling by powers of two,
// reductions and transposition.
#pragma once

#include <fovea/simd/integer_products.hpp>
#include <fovea/simd/storage.hpp>

#include <bit>

#if defined(__x86_64__)

namespace fovea::FOVEA_SET::kernel {

/// Masks of all lanes. Intrinsics with one are the same instructions as those without, which leave a vector undefined
/// in the compiler's header: GCC 12 warns of it there, and no pragma reaches a header that was included before, nor one
/// in a precompiled header. Optimized by nothing, some without are macros whose -1 warns.
inline constexpr __mmask16 all_16{0xffff};
inline constexpr __mmask8 all_8{0xff};

template <std::derived_from<arch::avx512> Arch>
struct xsimd_arch<Arch> {
    using type = xsimd::avx512bw;
};

template <class T, std::derived_from<arch::avx512> Arch>
struct registers<T, Arch> : generic_registers<T, Arch> {
    using vector = typename generic_registers<T, Arch>::vector;
    using integers = typename generic_registers<T, Arch>::integers;
    static constexpr bool single = sizeof(T) == 4;

    FOVEA_INLINE static vector min(vector const& a, vector const& b) {
        if constexpr (single) return _mm512_maskz_min_ps(all_16, a.data, b.data);
        else return _mm512_maskz_min_pd(all_8, a.data, b.data);
    }
    FOVEA_INLINE static vector max(vector const& a, vector const& b) {
        if constexpr (single) return _mm512_maskz_max_ps(all_16, a.data, b.data);
        else return _mm512_maskz_max_pd(all_8, a.data, b.data);
    }
    FOVEA_INLINE static vector sqrt(vector const& a) {
        if constexpr (single) return _mm512_maskz_sqrt_ps(all_16, a.data);
        else return _mm512_maskz_sqrt_pd(all_8, a.data);
    }
    FOVEA_INLINE static vector floor(vector const& a) {
        if constexpr (single) return _mm512_mask_floor_ps(a.data, all_16, a.data);
        else return _mm512_mask_floor_pd(a.data, all_8, a.data);
    }
    /// One instruction; xsimd 8.1 multiplies and adds.
    FOVEA_INLINE static vector fma(vector const& a, vector const& b, vector const& c) {
        if constexpr (single) return _mm512_fmadd_ps(a.data, b.data, c.data);
        else return _mm512_fmadd_pd(a.data, b.data, c.data);
    }
    FOVEA_INLINE static vector to_real(integers const& a) {
        if constexpr (single) return _mm512_maskz_cvtepi32_ps(all_16, a.data);
        else return _mm512_maskz_cvtepi64_pd(all_8, a.data);
    }
    template <int Bits>
    FOVEA_INLINE static integers shift_left(integers const& a) {
        if constexpr (single) return integers(_mm512_maskz_slli_epi32(all_16, a.data, Bits));
        else return integers(_mm512_maskz_slli_epi64(all_8, a.data, Bits));
    }
    template <int Bits>
    FOVEA_INLINE static integers shift_right(integers const& a) {
        if constexpr (single) return integers(_mm512_maskz_srai_epi32(all_16, a.data, Bits));
        else return integers(_mm512_maskz_srai_epi64(all_8, a.data, Bits));
    }
};

template <std::derived_from<arch::avx512> Arch>
struct widening<Arch> {
    using integers = typename registers<float, Arch>::integers;

    FOVEA_INLINE static integers widen(std::uint16_t const* from) {
        return integers(
            _mm512_maskz_cvtepu16_epi32(all_16, _mm256_loadu_si256(reinterpret_cast<__m256i const*>(from))));
    }
    FOVEA_INLINE static integers widen(std::int8_t const* from) {
        return integers(_mm512_maskz_cvtepi8_epi32(all_16, _mm_loadu_si128(reinterpret_cast<__m128i const*>(from))));
    }
    FOVEA_INLINE static integers widen(std::uint16_t const* from, index_t n) {
        return integers(_mm512_maskz_cvtepu16_epi32(all_16, _mm256_maskz_loadu_epi16(first(n), from)));
    }
    FOVEA_INLINE static void narrow(integers const& a, std::uint16_t* to) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_cvtepi32_epi16(all_16, a.data));
    }
    FOVEA_INLINE static void narrow(integers const& a, std::uint16_t* to, index_t n) {
        _mm512_mask_cvtepi32_storeu_epi16(to, first(n), a.data);
    }
    FOVEA_INLINE static __mmask16 first(index_t n) { return static_cast<__mmask16>((1U << n) - 1); }
};

template <widens Arch>
    requires std::derived_from<Arch, arch::avx512>
struct storage<float16, float, Arch> {
    using vector = pack<float, Arch>;

    FOVEA_INLINE static vector load(float16 const* from) {
        return {_mm512_maskz_cvtph_ps(all_16, _mm256_loadu_si256(reinterpret_cast<__m256i const*>(from)))};
    }
    FOVEA_INLINE static vector load_in_all_lanes(float16 x) {
        return {_mm512_maskz_cvtph_ps(all_16, _mm256_set1_epi16(static_cast<short>(x.bits)))};
    }
    FOVEA_INLINE static vector load(float16 const* from, index_t n) {
        return {_mm512_maskz_cvtph_ps(all_16, _mm256_maskz_loadu_epi16(widening<Arch>::first(n), from))};
    }
    FOVEA_INLINE static void store(vector const& a, float16* to) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), halves(a));
    }
    FOVEA_INLINE static void store(vector const& a, float16* to, index_t n) {
        _mm256_mask_storeu_epi16(to, widening<Arch>::first(n), halves(a));
    }

private:
    FOVEA_INLINE static __m256i halves(vector const& a) {
        return _mm512_maskz_cvtps_ph(all_16, a.value.data, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    }
};

template <class T, std::derived_from<arch::avx512> Arch>
struct lanes_of<T, Arch> : generic_lanes<T, Arch> {
    using vector = pack<T, Arch>;
    static constexpr bool single = sizeof(T) == 4;
    static constexpr index_t count = vector::lanes;

    FOVEA_INLINE static T sum(vector const& a) {
        return joined(a, [](auto const& x, auto const& y) FOVEA_LAMBDA { return x + y; });
    }
    FOVEA_INLINE static T max(vector const& a) { return joined(a, larger{}); }
    /// One bit for each of the first n lanes.
    FOVEA_INLINE static auto first(index_t n) {
        auto const bits = n >= count ? ~0U : (1U << n) - 1U;
        if constexpr (single) return static_cast<__mmask16>(bits);
        else return static_cast<__mmask8>(bits);
    }
    FOVEA_INLINE static lane_mask<T, Arch> mask_of_bits(std::uint32_t all) {
        using mask = typename registers<T, Arch>::mask;
        return {mask(static_cast<typename mask::register_type>(all))};
    }
    /// A load of up to half a vector touches only that half: the next cache line may be a miss.
    FOVEA_INLINE static vector load(T const* from, index_t n) {
        if constexpr (single) {
            if (n <= count / 2)
                return {_mm512_insertf32x8(_mm512_setzero_ps(),
                                           _mm256_maskz_loadu_ps(static_cast<__mmask8>(first(n)), from), 0)};
            return {_mm512_maskz_loadu_ps(first(n), from)};
        } else {
            if (n <= count / 2)
                return {_mm512_maskz_insertf64x4(all_8, _mm512_setzero_pd(),
                                                 _mm256_maskz_loadu_pd(static_cast<__mmask8>(first(n)), from), 0)};
            return {_mm512_maskz_loadu_pd(first(n), from)};
        }
    }
    FOVEA_INLINE static void store(vector const& a, T* to, index_t n) {
        if constexpr (single) _mm512_mask_storeu_ps(to, first(n), a.value.data);
        else _mm512_mask_storeu_pd(to, first(n), a.value.data);
    }
    FOVEA_INLINE static index_t compress_not_less(T limit, vector const& a, T* to) {
        if constexpr (single) {
            auto const kept = _mm512_cmp_ps_mask(a.value.data, _mm512_set1_ps(limit), _CMP_NLT_UQ);
            _mm512_storeu_ps(to, _mm512_maskz_compress_ps(kept, a.value.data));
            return std::popcount(static_cast<unsigned>(kept));
        } else {
            auto const kept = _mm512_cmp_pd_mask(a.value.data, _mm512_set1_pd(limit), _CMP_NLT_UQ);
            _mm512_storeu_pd(to, _mm512_maskz_compress_pd(kept, a.value.data));
            return std::popcount(static_cast<unsigned>(kept));
        }
    }
    /// Pairs of rows are interleaved by one element, then by two; the 128-bit quarters then form a four by four matrix,
    /// which two rounds of shuffles transpose.
    FOVEA_INLINE static void transpose(c_array<vector, count>& rows) {
        if constexpr (single) transpose_singles(rows);
        else transpose_doubles(rows);
    }
    /// Each lane is the one of a whose number is the lower 4 bits of an integer.
    FOVEA_INLINE static vector chosen(vector const& a, typename registers<T, Arch>::integers const& from)
        requires single
    {
        return {_mm512_maskz_permutexvar_ps(all_16, from.data, a.value.data)};
    }
    FOVEA_INLINE static vector reversed(vector const& a) {
        if constexpr (single)
            return {_mm512_maskz_permutexvar_ps(
                all_16, _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), a.value.data)};
        else return {_mm512_maskz_permutexvar_pd(all_8, _mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), a.value.data)};
    }
    /// Each step joins two vectors: sums of two, then of four neighbours, then of the quarters.
    FOVEA_INLINE static vector sums_of_rows(c_array<vector, count>& rows) {
        if constexpr (single) return row_sums_single(rows);
        else return generic_lanes<T, Arch>::sums_of_rows(rows);
    }
    static constexpr bool scales_any_exponent = true;
    /// a - floor(a); 0 for infinities.
    FOVEA_INLINE static vector fraction(vector const& a) {
        if constexpr (single) return {_mm512_reduce_ps(a.value.data, _MM_FROUND_TO_NEG_INF)};
        else return {_mm512_reduce_pd(a.value.data, _MM_FROUND_TO_NEG_INF)};
    }
    /// a * 2^floor(n).
    FOVEA_INLINE static vector scale(vector const& a, vector const& n) {
        if constexpr (single) return {_mm512_maskz_scalef_ps(all_16, a.value.data, n.value.data)};
        else return {_mm512_maskz_scalef_pd(all_8, a.value.data, n.value.data)};
    }
    /// 2^(a - floor(a)): in double 2^(k/8) from a table of one vector, and the rest by a polynomial; finite for
    /// infinities.
    FOVEA_INLINE static vector two_to_fraction(vector const& a)
        requires(!single)
    {
        // (2^r - 1) / r on 0 <= r <= 1/8, interpolated at Chebyshev's points: relative error of 2^r 9.3e-18.
        constexpr double series[] = {0.693147180559945388981784, 0.240226506959038339831483, 0.055504108672801254363368,
                                     0.009618128724986833929133, 0.001333364545363207936156, 0.000153933189181207260402,
                                     0.000015842913201420473234};
        auto const eighth =
            _mm512_setr_pd(0x1p+0, 0x1.172b83c7d517bp+0, 0x1.306fe0a31b715p+0, 0x1.4bfdad5362a27p+0,
                           0x1.6a09e667f3bcdp+0, 0x1.8ace5422aa0dbp+0, 0x1.ae89f995ad3adp+0, 0x1.d5818dcfba487p+0);
        auto const magic = _mm512_set1_pd(0x1.8p49);  // a sum with it has eighths in its last bits
        auto const k = _mm512_castpd_si512(
            _mm512_maskz_add_round_pd(all_8, a.value.data, magic, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
        vector const power(_mm512_maskz_permutexvar_pd(all_8, k, eighth));
        vector const r(_mm512_reduce_pd(a.value.data, (3 << 4) | _MM_FROUND_TO_NEG_INF));
        vector sum(series[6]);
        for (int i = 5; i >= 0; --i) sum = fma(sum, r, vector(series[i]));
        return fma(power, r * sum, power);
    }
    /// 1 / a: in float an estimate of 14 bits and one Newton iteration, off by at most a unit in the last place; NaN
    /// for zeros and infinities.
    FOVEA_INLINE static vector reciprocal(vector const& a) {
        if constexpr (single) {
            vector const estimate(_mm512_maskz_rcp14_ps(all_16, a.value.data));
            vector const error(_mm512_fnmadd_ps(a.value.data, estimate.value.data, vector(T{1}).value.data));
            return fma(estimate, error, estimate);
        } else {
            return vector(T{1}) / a;
        }
    }
    FOVEA_INLINE static vector quotient(vector const& a, vector const& b) {
        if constexpr (single) return a * reciprocal(b);
        else return a / b;
    }

private:
    struct larger {
        FOVEA_INLINE T operator()(T a, T b) const { return a > b ? a : b; }
        FOVEA_INLINE __m128 operator()(__m128 a, __m128 b) const { return _mm_max_ps(a, b); }
        FOVEA_INLINE __m128d operator()(__m128d a, __m128d b) const { return _mm_max_pd(a, b); }
        FOVEA_INLINE __m256 operator()(__m256 a, __m256 b) const { return _mm256_max_ps(a, b); }
        FOVEA_INLINE __m256d operator()(__m256d a, __m256d b) const { return _mm256_max_pd(a, b); }
    };
    /// The upper half of the lanes is joined to the lower one, until there is one lane.
    template <class Join>
    FOVEA_INLINE static T joined(vector const& a, Join join) {
        if constexpr (single) {
            auto const half = join(_mm512_extractf32x8_ps(a.value.data, 1), _mm512_extractf32x8_ps(a.value.data, 0));
            auto const quarter = join(_mm256_extractf128_ps(half, 1), _mm256_castps256_ps128(half));
            auto const pair = join(quarter, _mm_movehl_ps(quarter, quarter));
            return join(pair[0], pair[1]);
        } else {
            auto const upper = _mm512_maskz_extractf64x4_pd(all_8, a.value.data, 1),
                       lower = _mm512_maskz_extractf64x4_pd(all_8, a.value.data, 0);
            auto const half = join(upper, lower);
            auto const pair = join(_mm256_extractf128_pd(half, 1), _mm256_castpd256_pd128(half));
            return join(pair[0], pair[1]);
        }
    }
    /// Two quarters of a and two of b: the even ones for Order 0x88, the odd ones for 0xdd.
    template <int Order, class Register>
    FOVEA_INLINE static Register quarters(Register a, Register b) {
        if constexpr (single) return _mm512_maskz_shuffle_f32x4(all_16, a, b, Order);
        else return _mm512_maskz_shuffle_f64x2(all_8, a, b, Order);
    }
    /// Within each quarter the elements are columns already: quarters of vectors that are `step` apart are exchanged.
    template <class Register>
    FOVEA_INLINE static void transpose_quarters(c_array<Register, count> const& from, c_array<vector, count>& to) {
        constexpr index_t step = count / 4;
        for (index_t j = 0; j < step; ++j) {
            auto const a = quarters<0x88>(from[j], from[j + step]),
                       b = quarters<0x88>(from[j + 2 * step], from[j + 3 * step]),
                       c = quarters<0xdd>(from[j], from[j + step]),
                       d = quarters<0xdd>(from[j + 2 * step], from[j + 3 * step]);
            to[j] = vector(quarters<0x88>(a, b));
            to[j + step] = vector(quarters<0x88>(c, d));
            to[j + 2 * step] = vector(quarters<0xdd>(a, b));
            to[j + 3 * step] = vector(quarters<0xdd>(c, d));
        }
    }
    FOVEA_INLINE static vector row_sums_single(c_array<vector, count>& rows) {
        __m512 pairs[8], fours[4];
        for (int i = 0; i < 8; ++i) {
            auto const a = rows[2 * i].value.data, b = rows[2 * i + 1].value.data;
            pairs[i] = _mm512_add_ps(_mm512_maskz_unpacklo_ps(all_16, a, b), _mm512_maskz_unpackhi_ps(all_16, a, b));
        }
        for (int i = 0; i < 4; ++i) {
            auto const a = _mm512_castps_pd(pairs[2 * i]), b = _mm512_castps_pd(pairs[2 * i + 1]);
            fours[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_maskz_unpacklo_pd(all_8, a, b)),
                                     _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(all_8, a, b)));
        }
        auto const sums = [](__m512 a, __m512 b)
                              FOVEA_LAMBDA { return _mm512_add_ps(quarters<0x88>(a, b), quarters<0xdd>(a, b)); };
        return {sums(sums(fours[0], fours[1]), sums(fours[2], fours[3]))};
    }
    FOVEA_INLINE static void transpose_singles(c_array<vector, count>& rows) {
        __m512 pairs[16], fours[16];
        for (int i = 0; i < 16; i += 2) {
            pairs[i] = _mm512_maskz_unpacklo_ps(all_16, rows[i].value.data, rows[i + 1].value.data);
            pairs[i + 1] = _mm512_maskz_unpackhi_ps(all_16, rows[i].value.data, rows[i + 1].value.data);
        }
        auto const wide = [](__m512 x) FOVEA_LAMBDA { return _mm512_castps_pd(x); };
        for (int i = 0; i < 16; i += 4)
            for (int j = 0; j < 2; ++j) {
                fours[i + 2 * j] =
                    _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(all_8, wide(pairs[i + j]), wide(pairs[i + j + 2])));
                fours[i + 2 * j + 1] =
                    _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(all_8, wide(pairs[i + j]), wide(pairs[i + j + 2])));
            }
        transpose_quarters(fours, rows);
    }
    FOVEA_INLINE static void transpose_doubles(c_array<vector, count>& rows) {
        __m512d pairs[8];
        for (int i = 0; i < 8; i += 2) {
            pairs[i] = _mm512_maskz_unpacklo_pd(all_8, rows[i].value.data, rows[i + 1].value.data);
            pairs[i + 1] = _mm512_maskz_unpackhi_pd(all_8, rows[i].value.data, rows[i + 1].value.data);
        }
        transpose_quarters(pairs, rows);
    }
};

template <std::derived_from<arch::avx512> Arch>
struct integer_products<Arch> {
    using vector = pack<float, Arch>;
    static constexpr bool of_signed = false;

    template <int Words, class Row>
    FOVEA_INLINE static void columns(Row const& row, vector* to) {
        if constexpr (Words == 4) {
            __m512 rows[4];
            unrolled<4>([&](auto i) FOVEA_LAMBDA {
                auto const quarter = [&](index_t n) FOVEA_LAMBDA { return _mm_loadu_ps(floats(row(i + n))); };
                rows[i] = _mm512_castps128_ps512(quarter(0));
                rows[i] = _mm512_insertf32x4(rows[i], quarter(4), 1);
                rows[i] = _mm512_insertf32x4(rows[i], quarter(8), 2);
                rows[i] = _mm512_insertf32x4(rows[i], quarter(12), 3);
            });
            transpose_in_quarters(rows);
            unrolled<4>([&](auto j) FOVEA_LAMBDA { to[j] = {rows[j]}; });
        } else {
            __m512 rows[2][4];
            unrolled<2>([&](auto h) FOVEA_LAMBDA {
                unrolled<4>([&](auto i) FOVEA_LAMBDA {
                    auto const half = [&](index_t n)
                                          FOVEA_LAMBDA { return _mm256_loadu_ps(floats(row(8 * h + i + n))); };
                    rows[h][i] = _mm512_insertf32x8(_mm512_castps256_ps512(half(0)), half(4), 1);
                });
                transpose_in_quarters(rows[h]);
            });
            unrolled<4>([&](auto j) FOVEA_LAMBDA {
                to[j] = {_mm512_maskz_shuffle_f32x4(all_16, rows[0][j], rows[1][j], 0x88)};
                to[4 + j] = {_mm512_maskz_shuffle_f32x4(all_16, rows[0][j], rows[1][j], 0xdd)};
            });
        }
    }
    FOVEA_INLINE static vector add_products(vector const& a, vector const& b, vector const& sum) {
        auto const first = _mm512_castps_si512(a.value.data), second = _mm512_castps_si512(b.value.data);
        auto const before = _mm512_castps_si512(sum.value.data);
#if defined(__AVX512VNNI__)
        return {_mm512_castsi512_ps(_mm512_dpbusd_epi32(before, first, second))};
#else
        auto const even = _mm512_madd_epi16(_mm512_and_si512(first, _mm512_set1_epi16(0xff)),
                                            _mm512_srai_epi16(_mm512_slli_epi16(second, 8), 8));
        auto const odd = _mm512_madd_epi16(_mm512_srli_epi16(first, 8), _mm512_srai_epi16(second, 8));
        return {_mm512_castsi512_ps(_mm512_add_epi32(before, _mm512_add_epi32(even, odd)))};
#endif
    }

private:
    template <class Byte>
    FOVEA_INLINE static float const* floats(Byte const* from) {
        return reinterpret_cast<float const*>(from);
    }
    /// Four rows of four words in each quarter.
    FOVEA_INLINE static void transpose_in_quarters(__m512 (&rows)[4]) {
        __m512d const low_0 = _mm512_castps_pd(_mm512_maskz_unpacklo_ps(all_16, rows[0], rows[1])),
                      high_0 = _mm512_castps_pd(_mm512_maskz_unpackhi_ps(all_16, rows[0], rows[1])),
                      low_1 = _mm512_castps_pd(_mm512_maskz_unpacklo_ps(all_16, rows[2], rows[3])),
                      high_1 = _mm512_castps_pd(_mm512_maskz_unpackhi_ps(all_16, rows[2], rows[3]));
        rows[0] = _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(all_8, low_0, low_1));
        rows[1] = _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(all_8, low_0, low_1));
        rows[2] = _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(all_8, high_0, high_1));
        rows[3] = _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(all_8, high_0, high_1));
    }
};

}  // namespace fovea::FOVEA_SET::kernel
#endif
