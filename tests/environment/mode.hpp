// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "judge.hpp"

#include <cfenv>
#include <cstring>
#include <optional>

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

/// A mode of the floating-point unit: how results are rounded, and whether subnormal numbers become zero.
struct floating_point_mode {
    static constexpr auto names = "as_it_is | upward | downward | toward_zero | flush_to_zero";

    int rounding = FE_TONEAREST;
    bool flushes = false;

    /// The mode of a name; nothing where there is none.
    static std::optional<floating_point_mode> of(char const* name) {
        auto const is = [&](char const* mode) { return std::strcmp(name, mode) == 0; };
        if (is("as_it_is")) return floating_point_mode{};
#ifdef FE_UPWARD  // not in WebAssembly
        if (is("upward")) return floating_point_mode{FE_UPWARD, false};
        if (is("downward")) return floating_point_mode{FE_DOWNWARD, false};
        if (is("toward_zero")) return floating_point_mode{FE_TOWARDZERO, false};
#endif
        if (is("flush_to_zero")) return floating_point_mode{FE_TONEAREST, true};
        return std::nullopt;
    }

    /// Sets the mode, or what a program starts with; false where the machine has no such mode.
    bool set() const { return std::fesetround(rounding) == 0 && (!flushes || set_flush_to_zero(true)); }
    void reset() const {
        std::fesetround(FE_TONEAREST);
        if (flushes) set_flush_to_zero(false);
    }

private:
    /// Subnormal results and operands become zero.
    static bool set_flush_to_zero([[maybe_unused]] bool on) {
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
};

/// Runs calls in the mode that the first argument names and judges them; what main returns.
template <class Calls>
int run_in_mode(int argc, char** argv, Calls const& calls) {
    static std::optional<floating_point_mode> mode;
    if (argc == 2) mode = floating_point_mode::of(argv[1]);
    if (!mode) {
        std::printf("usage: %s %s\n", argv[0], floating_point_mode::names);
        return 2;
    }
    bool const has_mode = mode->set();
    mode->reset();
    if (!has_mode) {
        std::printf("this machine has no mode %s\n", argv[1]);
        return 1;
    }
    calls(surroundings{[] { mode->set(); }, [] { mode->reset(); }, judge::take});
    std::printf("%s: %d of %d calls differ from the definition\n", argv[1], judge::failures, judge::calls);
    return judge::failures == 0 && judge::calls > 0 ? 0 : 1;
}
