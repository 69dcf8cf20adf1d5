// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AVX-512 with products of bfloat16: pairs of bfloat16, and their products.
#pragma once

#include <fovea/simd/bf16_pairs.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>

#if defined(__x86_64__)

namespace fovea::FOVEA_SET::kernel {

template <std::derived_from<arch::avx512_bf16> Arch>
struct bf16_pairs<Arch> {
    using vector = pack<float, Arch>;

    FOVEA_INLINE static vector load(bfloat16 const* from) { return {_mm512_loadu_ps(from)}; }
    FOVEA_INLINE static vector load(bfloat16 const* from, index_t n) {
        auto const present = static_cast<__mmask32>((1ULL << n) - 1);
        return {_mm512_castsi512_ps(_mm512_maskz_loadu_epi16(present, from))};
    }
    FOVEA_INLINE static void store(vector const& pairs, bfloat16* to) { _mm512_storeu_ps(to, pairs.value.data); }
    FOVEA_INLINE static vector rounded(vector const& low, vector const& high) {
        return {std::bit_cast<__m512>(_mm512_cvtne2ps_pbh(high.value.data, low.value.data))};
    }
    FOVEA_INLINE static vector paired(vector const& low, vector const& high) {
        auto const both = std::bit_cast<__m512i>(_mm512_cvtne2ps_pbh(high.value.data, low.value.data));
        return {_mm512_castsi512_ps(_mm512_permutexvar_epi16(_mm512_load_si512(halves.data()), both))};
    }
    FOVEA_INLINE static void interleaved(vector const& a, vector const& b, vector (&pairs)[2]) {
        auto const low = _mm512_castps_si512(a.value.data), high = _mm512_castps_si512(b.value.data);
        pairs[0] = {_mm512_castsi512_ps(_mm512_permutex2var_epi16(low, order(0), high))};
        pairs[1] = {_mm512_castsi512_ps(_mm512_permutex2var_epi16(low, order(16), high))};
    }
    FOVEA_INLINE static vector add_products(vector const& a, vector const& b, vector const& sum) {
        return {_mm512_dpbf16_ps(sum.value.data, std::bit_cast<__m512bh>(a.value.data),
                                 std::bit_cast<__m512bh>(b.value.data))};
    }

private:
    /// 0, 16, 1, 17, ...: the permutation that interleaves the halves of a vector.
    alignas(64) static constexpr auto halves = [] {
        std::array<short, 32> lanes{};
        for (std::size_t i = 0; i < 32; ++i) lanes[i] = static_cast<short>(i / 2 + i % 2 * 16);
        return lanes;
    }();
    /// first, first + 32, first + 1, first + 33, ...: the permutation that interleaves two vectors.
    FOVEA_INLINE static __m512i order(short first) {
        alignas(64) static constexpr auto interleaving = [] {
            std::array<short, 32> lanes{};
            for (std::size_t i = 0; i < 32; ++i) lanes[i] = static_cast<short>(i / 2 + i % 2 * 32);
            return lanes;
        }();
        return _mm512_add_epi16(_mm512_load_si512(interleaving.data()), _mm512_set1_epi16(first));
    }
};

}  // namespace fovea::FOVEA_SET::kernel
#endif
