// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How AVX2 widens and narrows elements.
#pragma once

#include <fovea/simd/storage.hpp>

#if defined(__x86_64__)
namespace fovea::FOVEA_SET::kernel {

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
    FOVEA_INLINE static void store(vector const& a, float16* to) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                         _mm256_cvtps_ph(a.value.data, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
};
#endif

}  // namespace fovea::FOVEA_SET::kernel
#endif
