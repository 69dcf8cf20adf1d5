// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Subnormal numbers, with which many processors compute a hundred times slower than with others.
#pragma once

#include <fovea/core/config.hpp>

#include <cstdint>

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

namespace fovea {

/// subnormals_as_zero: while it lives, subnormal numbers that its thread computes with count as 0, and what it would
/// round to one becomes 0. Threads that help with regions of this one take over its mode.
///
/// Edge cases: nothing changes on processors without such a mode, which are others than x86 and AArch64.
class subnormals_as_zero {
public:
    FOVEA_TAGGED FOVEA_INLINE subnormals_as_zero() : before_(control()) {
        if ((before_ & flags) != flags) set_control(before_ | flags);
    }
    subnormals_as_zero(subnormals_as_zero const&) = delete;
    subnormals_as_zero& operator=(subnormals_as_zero const&) = delete;
    /// Exceptions that were raised meanwhile stay raised.
    FOVEA_TAGGED FOVEA_INLINE ~subnormals_as_zero() {
        if ((before_ & flags) != flags) set_control((control() & ~flags) | (before_ & flags));
    }

private:
#ifdef __SSE2__
    using word = unsigned;
    static constexpr word flags = 0x8040U;  // FTZ, of results, and DAZ, of operands
    FOVEA_TAGGED FOVEA_INLINE static word control() { return _mm_getcsr(); }
    FOVEA_TAGGED FOVEA_INLINE static void set_control(word to) { _mm_setcsr(to); }
#elif defined(__aarch64__)
    using word = std::uint64_t;
    static constexpr word flags = word{1} << 24;  // FZ, of both
    FOVEA_TAGGED FOVEA_INLINE static word control() {
        word now = 0;
        asm volatile("mrs %0, fpcr" : "=r"(now));
        return now;
    }
    FOVEA_TAGGED FOVEA_INLINE static void set_control(word to) { asm volatile("msr fpcr, %0" : : "r"(to) : "memory"); }
#else
    using word = unsigned;
    static constexpr word flags = 0;
    FOVEA_TAGGED FOVEA_INLINE static word control() { return 0; }
    FOVEA_TAGGED FOVEA_INLINE static void set_control(word) {}
#endif

    word before_;

public:
    static constexpr bool has_mode = flags != 0;
};

}  // namespace fovea
