// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What AVX2 does in a few instructions: transposition, lanes in reverse order, row sums.
#pragma once

#include <fovea/simd/lanes.hpp>

#if defined(__x86_64__)

namespace fovea::FOVEA_SET::kernel {

template <class T>
    requires(sizeof(T) == 4)
struct lanes_of<T, arch::avx2> : generic_lanes<T, arch::avx2> {
    using vector = pack<T, arch::avx2>;
    static constexpr index_t count = vector::lanes;

    FOVEA_INLINE static vector reversed(vector const& a) {
        return {_mm256_permutevar8x32_ps(a.value.data, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0))};
    }
    /// Each step joins two vectors: sums of two, then of four neighbours, then of the halves.
    FOVEA_INLINE static vector row_sums(c_array<vector, count>& rows) {
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

}  // namespace fovea::FOVEA_SET::kernel
#endif
