// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vectors of AVX-512, with or without products of bfloat16.
#pragma once

#include <fovea/simd/registers.hpp>

#if defined(__x86_64__)
namespace fovea::FOVEA_SET::kernel {

template <std::derived_from<arch::avx512> Arch>
struct xsimd_arch<Arch> {
    using type = xsimd::avx512bw;
};

template <class T, std::derived_from<arch::avx512> Arch>
struct registers<T, Arch> : generic_registers<T, Arch> {
    using vector = typename generic_registers<T, Arch>::vector;
    using integers = typename generic_registers<T, Arch>::integers;

    /// One instruction; xsimd 8.1 multiplies and adds.
    FOVEA_INLINE static vector fma(vector const& a, vector const& b, vector const& c) {
        if constexpr (sizeof(T) == 4) return _mm512_fmadd_ps(a.data, b.data, c.data);
        else return _mm512_fmadd_pd(a.data, b.data, c.data);
    }
    FOVEA_INLINE static vector to_real(integers const& a) { return xsimd::to_float(a); }
};

}  // namespace fovea::FOVEA_SET::kernel
#endif
