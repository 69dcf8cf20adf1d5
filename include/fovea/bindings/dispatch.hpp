// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which of the code of several architectures runs on this processor. Compiled for the least of them.
#pragma once

#include <fovea/bindings/types.h>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/simd/arch/amx.hpp>
#include <fovea/simd/arch/processor.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>

namespace fovea::FOVEA_SET::bindings {

struct architecture {
    std::string_view name;
    bool (*runs_here)();
};

/// The architectures that kernels are built for, the best one last.
///
/// The compiler's run-time library asks the processor and, for wide registers, the operating system; what xsimd finds
/// leaves the latter and the newer instructions out.
#if defined(__x86_64__)
inline bool has_avx2() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi")
        && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
}
inline bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl");
}
inline constexpr std::array<architecture, 5> architectures{
    {{"sse2", [] { return true; }},
     {"avx2", has_avx2},
     {"avx512", has_avx512},
     {"avx512_bf16",
      [] { return has_avx512() && __builtin_cpu_supports("avx512bf16") && kernel::multiplies_pairs_fast(); }},
     {"avx512_amx",
      [] { return has_avx512() && __builtin_cpu_supports("avx512bf16") && kernel::amx_permission::granted(); }}}};
#elif defined(__aarch64__)
inline constexpr std::array<architecture, 1> architectures{{{"neon", [] { return true; }}}};
#else
inline constexpr std::array<architecture, 1> architectures{{{"portable", [] { return true; }}}};
#endif

/// The code of one kernel for one architecture.
struct unit {
    std::string_view architecture;
    fovea_status (*run)(fovea_call const* call, fovea_array const* operands, fovea_value const* values);
};

/// The place of an architecture among those above; their number where it is none of them.
inline std::size_t rank_of_architecture(std::string_view name) {
    std::size_t i = 0;
    while (i < architectures.size() && architectures[i].name != name) ++i;
    return i;
}

/// The best of some units on this processor, the environment variable FOVEA_ARCHITECTURE naming the best that is
/// wanted; null where none runs.
template <std::size_t Size>
unit const* best_of(std::array<unit, Size> const& units) {
    std::size_t most = architectures.size() - 1;
    if (char const* const wanted = std::getenv("FOVEA_ARCHITECTURE"); wanted != nullptr && *wanted != '\0') {
        most = rank_of_architecture(wanted);
        if (most == architectures.size()) return nullptr;
    }
    unit const* best = nullptr;
    for (auto const& each : units) {
        auto const rank = rank_of_architecture(each.architecture);
        if (rank <= most && architectures[rank].runs_here()
            && (best == nullptr || rank > rank_of_architecture(best->architecture)))
            best = &each;
    }
    return best;
}

/// The name of its architecture; null where there is none.
inline char const* name_of(unit const* best) { return best == nullptr ? nullptr : best->architecture.data(); }

template <class Array>
fovea_array operand_of(Array const& a) {
    fovea_array operand{const_cast<void*>(static_cast<void const*>(a.data)), {}, {}};
    for (int axis = 0; axis < 4; ++axis) {
        operand.extents[axis] = a.extents[axis];
        operand.strides[axis] = a.strides[axis];
    }
    return operand;
}

/// Runs a unit, or says that there is none.
inline fovea_status run_best(unit const* best, fovea_call const* call, fovea_array const* operands,
                             fovea_value const* values) {
    if (best != nullptr) return best->run(call, operands, values);
    if (call != nullptr && call->message != nullptr && call->message_size > 0) {
        char const* const wanted = std::getenv("FOVEA_ARCHITECTURE");
        std::snprintf(call->message, call->message_size,
                      wanted == nullptr || *wanted == '\0'
                          ? "none of the architectures that this kernel was built for runs here"
                          : "FOVEA_ARCHITECTURE is %s: this kernel was not built for it or less, or it is unknown",
                      wanted);
    }
    return FOVEA_UNSUPPORTED;
}

inline fovea_value pointer(void const* p) {
    fovea_value v;
    v.pointer = p;
    return v;
}
inline fovea_value integer(std::int64_t n) {
    fovea_value v;
    v.integer = n;
    return v;
}
inline fovea_value real(double x) {
    fovea_value v;
    v.real = x;
    return v;
}

inline fovea_workspace* create_workspace() {
    return reinterpret_cast<fovea_workspace*>(new (std::nothrow) workspace());
}
inline void destroy_workspace(fovea_workspace* scratch) { delete reinterpret_cast<workspace*>(scratch); }

}  // namespace fovea::FOVEA_SET::bindings
