// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How AVX-512 widens and narrows elements.
#pragma once

#include <fovea/simd/storage.hpp>

#if defined(__x86_64__)
namespace fovea::FOVEA_SET::kernel {

template <std::derived_from<arch::avx512> Arch>
struct widening<Arch> {
    using integers = typename registers<float, Arch>::integers;

    FOVEA_INLINE static integers widen(std::uint16_t const* from) {
        return integers(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<__m256i const*>(from))));
    }
    FOVEA_INLINE static integers widen(std::int8_t const* from) {
        return integers(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<__m128i const*>(from))));
    }
    FOVEA_INLINE static integers widen(std::uint16_t const* from, index_t n) {
        return integers(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(first(n), from)));
    }
    FOVEA_INLINE static void narrow(integers const& a, std::uint16_t* to) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi32_epi16(a.data));
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
        return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<__m256i const*>(from)))};
    }
    FOVEA_INLINE static vector load(float16 const* from, index_t n) {
        return {_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(widening<Arch>::first(n), from))};
    }
    FOVEA_INLINE static void store(vector const& a, float16* to) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), halves(a));
    }
    FOVEA_INLINE static void store(vector const& a, float16* to, index_t n) {
        _mm256_mask_storeu_epi16(to, widening<Arch>::first(n), halves(a));
    }

private:
    FOVEA_INLINE static __m256i halves(vector const& a) {
        return _mm512_cvtps_ph(a.value.data, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    }
};

}  // namespace fovea::FOVEA_SET::kernel
#endif
