// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vectors of AArch64.
#pragma once

#include <fovea/simd/registers.hpp>

#if defined(__aarch64__)
#include <arm_neon.h>

namespace fovea::FOVEA_SET::kernel {

template <>
struct xsimd_arch<arch::neon> {
    using type = xsimd::neon64;
};

template <class T>
struct registers<T, arch::neon> : generic_registers<T, arch::neon> {
    using vector = typename generic_registers<T, arch::neon>::vector;
    using integers = typename generic_registers<T, arch::neon>::integers;
    static constexpr bool single = sizeof(T) == 4;

    /// One instruction; xsimd 8.1 multiplies and adds.
    FOVEA_INLINE static vector fma(vector const& a, vector const& b, vector const& c) {
        if constexpr (single) return vfmaq_f32(c.data, a.data, b.data);
        else return vfmaq_f64(c.data, a.data, b.data);
    }
    /// For floats, xsimd 8.1 takes an estimate.
    FOVEA_INLINE static vector divide(vector const& a, vector const& b) {
        if constexpr (single) return vdivq_f32(a.data, b.data);
        else return a / b;
    }
    /// b where either is NaN; the instructions would give NaN.
    FOVEA_INLINE static vector min(vector const& a, vector const& b) { return xsimd::select(a < b, a, b); }
    FOVEA_INLINE static vector max(vector const& a, vector const& b) { return xsimd::select(a > b, a, b); }
    FOVEA_INLINE static vector floor(vector const& a) {
        if constexpr (single) return vrndmq_f32(a.data);
        else return vrndmq_f64(a.data);
    }
    FOVEA_INLINE static vector to_real(integers const& a) { return xsimd::to_float(a); }
};

}  // namespace fovea::FOVEA_SET::kernel
#endif
