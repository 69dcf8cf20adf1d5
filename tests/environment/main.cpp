// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls in one mode of the floating-point unit, which the first argument names.
#include "judge.hpp"

#include <cfenv>
#include <cstring>

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

void calls(surroundings const&);

namespace {

int rounding = FE_TONEAREST;
bool flushes = false;

/// Subnormal results and operands become zero.
bool set_flush_to_zero([[maybe_unused]] bool on) {
#ifdef __SSE2__
    _mm_setcsr((_mm_getcsr() & ~0x8040U) | (on ? 0x8040U : 0U));
    return true;
#elif defined(__aarch64__)
    unsigned long control = 0;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    control = (control & ~(1UL << 24)) | (on ? 1UL << 24 : 0UL);
    asm volatile("msr fpcr, %0" : : "r"(control));
    return true;
#else
    return false;
#endif
}

}  // namespace

int main(int argc, char** argv) {
    auto const is = [&](char const* mode) { return argc == 2 && std::strcmp(argv[1], mode) == 0; };
    if (is("upward")) rounding = FE_UPWARD;
    else if (is("downward")) rounding = FE_DOWNWARD;
    else if (is("toward_zero")) rounding = FE_TOWARDZERO;
    else if (is("flush_to_zero")) flushes = true;
    else if (!is("as_it_is")) {
        std::printf("usage: %s as_it_is | upward | downward | toward_zero | flush_to_zero\n", argv[0]);
        return 2;
    }
    if (std::fesetround(rounding) != 0 || (flushes && !set_flush_to_zero(true))) {
        std::printf("this machine has no mode %s\n", argv[1]);
        return 1;
    }
    std::fesetround(FE_TONEAREST);
    if (flushes) set_flush_to_zero(false);
    calls({[] {
               std::fesetround(rounding);
               if (flushes) set_flush_to_zero(true);
           },
           [] {
               std::fesetround(FE_TONEAREST);
               if (flushes) set_flush_to_zero(false);
           },
           judge::take});
    std::printf("%s: %d of %d calls differ from the definition\n", argv[1], judge::failures, judge::calls);
    return judge::failures == 0 && judge::calls > 0 ? 0 : 1;
}
