// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What AArch64 does in a few instructions: transposition, lanes in reverse order, row sums.
#pragma once

#include <fovea/simd/lanes.hpp>

#if defined(__aarch64__)
#include <arm_neon.h>

namespace fovea::FOVEA_SET::kernel {

template <class T>
struct lanes_of<T, arch::neon> : generic_lanes<T, arch::neon> {
    using vector = pack<T, arch::neon>;
    static constexpr bool single = sizeof(T) == 4;
    static constexpr index_t count = vector::lanes;

    FOVEA_INLINE static vector reversed(vector const& a) {
        if constexpr (single) {
            auto const swapped = vrev64q_f32(a.value.data);
            return {vextq_f32(swapped, swapped, 2)};
        } else {
            return {vextq_f64(a.value.data, a.value.data, 1)};
        }
    }
    /// Each step joins two vectors: sums of two neighbours, then of four.
    FOVEA_INLINE static vector row_sums(c_array<vector, count>& rows) {
        if constexpr (single)
            return {vpaddq_f32(vpaddq_f32(rows[0].value.data, rows[1].value.data),
                               vpaddq_f32(rows[2].value.data, rows[3].value.data))};
        else return {vpaddq_f64(rows[0].value.data, rows[1].value.data)};
    }
    /// Pairs of rows exchange single elements, then, in float, pairs of pairs exchange two.
    FOVEA_INLINE static void transpose(c_array<vector, count>& rows) {
        if constexpr (single) {
            float64x2_t pairs[4];
            for (int i = 0; i < 4; i += 2) {
                pairs[i] = vreinterpretq_f64_f32(vtrn1q_f32(rows[i].value.data, rows[i + 1].value.data));
                pairs[i + 1] = vreinterpretq_f64_f32(vtrn2q_f32(rows[i].value.data, rows[i + 1].value.data));
            }
            for (int j = 0; j < 2; ++j) {
                rows[j] = vector(vreinterpretq_f32_f64(vtrn1q_f64(pairs[j], pairs[j + 2])));
                rows[j + 2] = vector(vreinterpretq_f32_f64(vtrn2q_f64(pairs[j], pairs[j + 2])));
            }
        } else {
            auto const upper = rows[0].value.data, lower = rows[1].value.data;
            rows[0] = vector(vtrn1q_f64(upper, lower));
            rows[1] = vector(vtrn2q_f64(upper, lower));
        }
    }
};

}  // namespace fovea::FOVEA_SET::kernel
#endif
