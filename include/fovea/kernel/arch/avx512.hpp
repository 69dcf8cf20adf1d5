// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What AVX-512 does in one instruction: reductions, masked loads and stores, scaling by powers of two.
#pragma once

#include <fovea/kernel/lanes.hpp>

#if defined(__x86_64__)

namespace fovea::kernel {

template <class T>
struct lanes_of<T, arch::avx512> : generic_lanes<T, arch::avx512> {
    using vector = pack<T, arch::avx512>;
    static constexpr bool single = sizeof(T) == 4;
    static constexpr index_t count = vector::lanes;

    FOVEA_INLINE static T sum(vector const& a) {
        if constexpr (single) return _mm512_reduce_add_ps(a.value.data);
        else return _mm512_reduce_add_pd(a.value.data);
    }
    FOVEA_INLINE static T max(vector const& a) {
        if constexpr (single) return _mm512_reduce_max_ps(a.value.data);
        else return _mm512_reduce_max_pd(a.value.data);
    }
    /// One bit for each of the first n lanes.
    FOVEA_INLINE static auto first(index_t n) {
        auto const bits = n >= count ? ~0U : (1U << n) - 1U;
        if constexpr (single) return static_cast<__mmask16>(bits);
        else return static_cast<__mmask8>(bits);
    }
    /// A load that ends within half a vector asks for no more than that: the line behind it may be far away.
    FOVEA_INLINE static vector load(T const* from, index_t n) {
        if constexpr (single) {
            if (n <= count / 2)
                return {_mm512_zextps256_ps512(_mm256_maskz_loadu_ps(static_cast<__mmask8>(first(n)), from))};
            return {_mm512_maskz_loadu_ps(first(n), from)};
        } else {
            if (n <= count / 2)
                return {_mm512_zextpd256_pd512(_mm256_maskz_loadu_pd(static_cast<__mmask8>(first(n)), from))};
            return {_mm512_maskz_loadu_pd(first(n), from)};
        }
    }
    FOVEA_INLINE static void store(vector const& a, T* to, index_t n) {
        if constexpr (single) _mm512_mask_storeu_ps(to, first(n), a.value.data);
        else _mm512_mask_storeu_pd(to, first(n), a.value.data);
    }
    static constexpr bool scale_saturates = true;
    FOVEA_INLINE static vector scale(vector const& a, vector const& n) {
        if constexpr (single) return {_mm512_scalef_ps(a.value.data, n.value.data)};
        else return {_mm512_scalef_pd(a.value.data, n.value.data)};
    }
    /// 1 / a by an estimate of 14 bits and Newton's iteration; at most one unit in the last place off in float.
    FOVEA_INLINE static vector reciprocal(vector const& a) {
        if constexpr (single) {
            vector const estimate(_mm512_rcp14_ps(a.value.data));
            return fma(estimate, fma(-a, estimate, vector(T{1})), estimate);
        } else {
            return vector(T{1}) / a;
        }
    }
};

}  // namespace fovea::kernel
#endif
