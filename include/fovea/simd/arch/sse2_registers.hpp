// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vectors of SSE2, which has no instruction that rounds to an integer in a given direction.
#pragma once

#include <fovea/simd/registers.hpp>

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

    /// One of the two nearest integers is corrected. All is opaque, since -ffast-math would cancel the constants and
    /// reorder what uses the result.
    FOVEA_INLINE static vector floor(vector const& a) {
        vector sum = a + rounding_constant<T>;
        base::make_opaque(sum);
        vector nearby = sum - rounding_constant<T>;
        base::make_opaque(nearby);
        vector result = nearby - xsimd::select(a < nearby, vector(T{1}), vector(T{0}));
        base::make_opaque(result);
        return result;
    }
};

}  // namespace fovea::FOVEA_SET::kernel
#endif
