// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SSE2: its vectors, which no instruction rounds to integers in a given direction, and how it widens and narrows
// elements.
#pragma once

#include <fovea/simd/integer_products.hpp>
#include <fovea/simd/storage.hpp>

#include <cstring>

#if defined(__x86_64__)

namespace fovea::FOVEA_SET::kernel {

template <>
struct xsimd_arch<arch::sse2> {
    using type = xsimd::sse2;
};

template <class T>
struct registers<T, arch::sse2> : generic_registers<T, arch::sse2> {
    using base = generic_registers<T, arch::sse2>;
    using vector = typename base::vector;

    FOVEA_INLINE static vector floor(vector const& a) { return floor_by_rounding<T, base>(a); }
};

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

template <std::same_as<arch::sse2> Arch>
struct integer_products<Arch> : word_columns<Arch> {
    using vector = pack<float, Arch>;
    static constexpr bool of_signed = false;

    FOVEA_INLINE static vector add_products(vector const& a, vector const& b, vector const& sum) {
        auto const first = _mm_castps_si128(a.value.data), second = _mm_castps_si128(b.value.data);
        auto const even =
            _mm_madd_epi16(_mm_and_si128(first, _mm_set1_epi16(0xff)), _mm_srai_epi16(_mm_slli_epi16(second, 8), 8));
        auto const odd = _mm_madd_epi16(_mm_srli_epi16(first, 8), _mm_srai_epi16(second, 8));
        return {_mm_castsi128_ps(_mm_add_epi32(_mm_castps_si128(sum.value.data), _mm_add_epi32(even, odd)))};
    }
};

}  // namespace fovea::FOVEA_SET::kernel
#endif
