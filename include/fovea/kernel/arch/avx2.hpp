// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What AVX2 does in a few instructions: columns of what were rows.
#pragma once

#include <fovea/kernel/lanes.hpp>

#if defined(__x86_64__)

namespace fovea::kernel {

template <class T>
    requires(sizeof(T) == 4)
struct lanes_of<T, arch::avx2> : generic_lanes<T, arch::avx2> {
    using vector = pack<T, arch::avx2>;
    static constexpr index_t count = vector::lanes;

    /// Pairs of rows are interleaved by one element, then by two, then halves are exchanged.
    FOVEA_INLINE static void transpose(vector (&rows)[count]) {
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

}  // namespace fovea::kernel
#endif
