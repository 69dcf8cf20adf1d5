// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vectors of AVX2 and FMA.
#pragma once

#include <fovea/simd/registers.hpp>

#if defined(__x86_64__)
namespace fovea::FOVEA_SET::kernel {

template <>
struct xsimd_arch<arch::avx2> {
    using type = xsimd::fma3<xsimd::avx2>;
};

template <class T>
struct registers<T, arch::avx2> : generic_registers<T, arch::avx2> {
    using vector = typename generic_registers<T, arch::avx2>::vector;

    FOVEA_INLINE static vector fma(vector const& a, vector const& b, vector const& c) {
        if constexpr (sizeof(T) == 4) return _mm256_fmadd_ps(a.data, b.data, c.data);
        else return _mm256_fmadd_pd(a.data, b.data, c.data);
    }
};

}  // namespace fovea::FOVEA_SET::kernel
#endif
