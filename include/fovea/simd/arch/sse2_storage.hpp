// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How SSE2 widens and narrows elements.
#pragma once

#include <fovea/simd/storage.hpp>

#include <cstring>

#if defined(__x86_64__)
namespace fovea::FOVEA_SET::kernel {

template <std::same_as<arch::sse2> Arch>
struct widening<Arch> {
    using integers = typename registers<float, Arch>::integers;

    FOVEA_INLINE static integers widen(std::uint16_t const* from) {
        auto const halves = _mm_loadl_epi64(reinterpret_cast<__m128i const*>(from));
        return integers(_mm_unpacklo_epi16(halves, _mm_setzero_si128()));
    }
    FOVEA_INLINE static integers widen(std::int8_t const* from) {
        std::int32_t bytes;
        std::memcpy(&bytes, from, sizeof bytes);
        auto const pairs = _mm_unpacklo_epi8(_mm_setzero_si128(), _mm_cvtsi32_si128(bytes));
        return integers(_mm_srai_epi32(_mm_unpacklo_epi16(_mm_setzero_si128(), pairs), 24));
    }
    FOVEA_INLINE static void narrow(integers const& a, std::uint16_t* to) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packs_epi32(a.data, a.data));
    }
};

}  // namespace fovea::FOVEA_SET::kernel
#endif
