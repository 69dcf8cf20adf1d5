// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The answers of this processor about itself, and not of what the compiler may use.
#pragma once

#include <fovea/core/config.hpp>

#if defined(__x86_64__)

namespace fovea::FOVEA_SET::kernel {

/// An answer of the instruction CPUID; zeros where the processor does not know the leaf.
struct cpuid {
    unsigned a = 0, b = 0, c = 0, d = 0;
    bool known = true;
    cpuid(unsigned leaf, unsigned part) {
        ask(0, 0);
        known = a >= leaf;
        if (known) ask(leaf, part);
    }

private:
    void ask(unsigned leaf, unsigned part) {
        asm volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(leaf), "c"(part));
    }
};

/// True of the answer to leaf 0 that spells "GenuineIntel".
constexpr bool is_of_intel(unsigned b, unsigned d, unsigned c) {
    return b == 0x756e6547 && d == 0x49656e69 && c == 0x6c65746e;
}

/// Whether this processor multiplies pairs of bfloat16 in vectors faster than floats. Those of Intel do not, with or
/// without a matrix unit, which a virtual machine may hide (simd/architecture.hpp).
inline bool multiplies_pairs_fast() {
    static bool const known = [] {
        cpuid const vendor(0, 0);
        return !is_of_intel(vendor.b, vendor.d, vendor.c);
    }();
    return known;
}

}  // namespace fovea::FOVEA_SET::kernel

#else

namespace fovea::FOVEA_SET::kernel {
/// No other processor is slow at them that has them.
inline bool multiplies_pairs_fast() { return true; }
}  // namespace fovea::FOVEA_SET::kernel

#endif
