// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The macros of the library; but for the version, none appears in an interface.
#pragma once

// Clang stops at the first line, and says nothing of what it does not understand further on; other compilers, and Clang
// with -w, say the second. Apple's Clang 15 is Clang 16; clang-cl is Clang that does not say it is compatible with GCC.
#if !(defined(__GNUC__) || defined(__clang__)) || (defined(__clang__) && __clang_major__ < 15) \
    || (defined(__clang__) && !defined(__apple_build_version__) && __clang_major__ < 16)
#ifdef __clang__
#pragma clang diagnostic fatal "-W#warnings"
#warning "fovea: this compiler is not supported: use GCC 12 or newer, or Clang 16 or newer"
#endif
#error "fovea: this compiler is not supported: use GCC 12 or newer, or Clang 16 or newer"
#endif

// A file that is not there ends what compilers say: of the headers in an earlier language it would be thousands of
// errors.
#if __cplusplus < 202002L
#include "fovea: this is not C++20: compile with -std=c++20 or newer"
#endif

// 32-bit x86 without SSE2 computes with 80 bits, which rounds otherwise at each place that keeps a number.
#if defined(__i386__) && !(defined(__SSE2__) && __FLT_EVAL_METHOD__ == 0)
#error "fovea: arithmetic is not rounded to float here: compile with -msse2 -mfpmath=sse"
#endif

// With the address sanitizer GCC keeps every variable of what is inlined in memory, and guards it: inlining by force
// doubles the time of the compiler and its memory, for a fifth of the speed.
#ifdef __SANITIZE_ADDRESS__
#define FOVEA_INLINE inline
#define FOVEA_LAMBDA
#else
#define FOVEA_INLINE [[gnu::always_inline]] inline
#define FOVEA_LAMBDA __attribute__((always_inline))
#endif
#define FOVEA_RESTRICT __restrict

// Empty members take no room beside others; to the ABI of MSVC the attribute of the standard says nothing.
#ifdef _MSC_VER
#define FOVEA_NO_UNIQUE_ADDRESS [[msvc::no_unique_address]]
#else
#define FOVEA_NO_UNIQUE_ADDRESS [[no_unique_address]]
#endif

// Code that no specification changes is compiled in each unit or, for programs with many specifications, once: in
// src/compiled.cpp, from which units that define FOVEA_COMPILED have it. A program may link that more than once, for
// instance in two libraries; what has the same name is then the same code, of which the linker keeps one: an inline
// function that is there although nothing in its unit calls it. A weak one would be found by no other unit on Windows.
#ifdef FOVEA_COMPILED
#define FOVEA_ONCE
#define FOVEA_ONCE_DEFINED [[gnu::used]] inline
#else
#define FOVEA_ONCE inline
#define FOVEA_ONCE_DEFINED inline
#endif

// 1 for a macro that is defined as 1, otherwise 0.
#define FOVEA_HAS(macro) FOVEA_HAS_VALUE(macro)
#define FOVEA_HAS_VALUE(value) FOVEA_SECOND(FOVEA_COMMA_AFTER_##value 1, 0, )
#define FOVEA_SECOND(...) FOVEA_SECOND_NOW(__VA_ARGS__)
#define FOVEA_SECOND_NOW(first, second, ...) second
#define FOVEA_COMMA_AFTER_1 0,

// Functions that decide what is computed and check it, and compute little themselves: in units that are compiled for
// size they are small rather than fast.
#if FOVEA_HAS(FOVEA_SIZE)
#define FOVEA_CONTROL [[gnu::cold]]
#else
#define FOVEA_CONTROL
#endif

// Of a function that two translation units define with one name the linker keeps either. So that units compiled for
// different instruction sets can stand in one program, all of the library lies in an inline namespace that is named
// after what the unit may use: `namespace fovea::FOVEA_SET`. Only types that such units hand to each other (views,
// tensors, graphs, errors, 16-bit numbers, executors, workspaces) lie outside, and their functions are FOVEA_TAGGED:
// the type has one name, its functions have one for each set.
#define FOVEA_SET inline FOVEA_SET_NAME
#define FOVEA_TAGGED [[gnu::abi_tag(FOVEA_TEXT(FOVEA_SET_NAME))]]
#define FOVEA_TEXT(name) FOVEA_TEXT_NOW(name)
#define FOVEA_TEXT_NOW(name) #name

// A hexadecimal digit for four of them.
#define FOVEA_DIGIT(a, b, c, d) \
    FOVEA_JOIN(FOVEA_HEX_, FOVEA_HAS(a), FOVEA_HAS(b), FOVEA_HAS(c), FOVEA_HAS(d), , , , , , , , , )
#define FOVEA_JOIN(...) FOVEA_JOIN_NOW(__VA_ARGS__)
#define FOVEA_JOIN_NOW(a, b, c, d, e, f, g, h, i, j, k, l, m, n) a##b##c##d##e##f##g##h##i##j##k##l##m##n
#define FOVEA_HEX_0000 0
#define FOVEA_HEX_0001 1
#define FOVEA_HEX_0010 2
#define FOVEA_HEX_0011 3
#define FOVEA_HEX_0100 4
#define FOVEA_HEX_0101 5
#define FOVEA_HEX_0110 6
#define FOVEA_HEX_0111 7
#define FOVEA_HEX_1000 8
#define FOVEA_HEX_1001 9
#define FOVEA_HEX_1010 a
#define FOVEA_HEX_1011 b
#define FOVEA_HEX_1100 c
#define FOVEA_HEX_1101 d
#define FOVEA_HEX_1110 e
#define FOVEA_HEX_1111 f

// A feature that a compiler does not know is none. FOVEA_MATRIX_UNIT is a choice of the user, and the last is no
// instruction: functions that may take everything for finite may not be shared either.
#define FOVEA_SET_NAME                                                                                              \
    FOVEA_JOIN(                                                                                                     \
        set_, FOVEA_DIGIT(__SSE3__, __SSSE3__, __SSE4_1__, __SSE4_2__),                                             \
        FOVEA_DIGIT(__POPCNT__, __LZCNT__, __BMI__, __BMI2__), FOVEA_DIGIT(__MOVBE__, __F16C__, __AVX__, __AVX2__), \
        FOVEA_DIGIT(__FMA__, __AVXVNNI__, __AVX512F__, __AVX512CD__),                                               \
        FOVEA_DIGIT(__AVX512BW__, __AVX512DQ__, __AVX512VL__, __AVX512IFMA__),                                      \
        FOVEA_DIGIT(__AVX512VBMI__, __AVX512VBMI2__, __AVX512VNNI__, __AVX512BITALG__),                             \
        FOVEA_DIGIT(__AVX512VPOPCNTDQ__, __AVX512BF16__, __AVX512FP16__, __GFNI__),                                 \
        FOVEA_DIGIT(FOVEA_MATRIX_UNIT, __AMX_INT8__, __AMX_BF16__, __APX_F__),                                      \
        FOVEA_DIGIT(__ARM_FEATURE_ATOMICS, __ARM_FEATURE_DOTPROD, __ARM_FEATURE_FP16_VECTOR_ARITHMETIC,             \
                    __ARM_FEATURE_BF16),                                                                            \
        FOVEA_DIGIT(__ARM_FEATURE_MATMUL_INT8, __ARM_FEATURE_SVE, __ARM_FEATURE_SVE2, __FAST_MATH__),               \
        FOVEA_DIGIT(__ALTIVEC__, __VSX__, __POWER9_VECTOR__, __VX__),                                               \
        FOVEA_DIGIT(__ARM_NEON, __riscv_vector, __loongarch_sx, __wasm_simd128__), FOVEA_DIGIT(FOVEA_SIZE, , , ))

namespace fovea::FOVEA_SET {
/// True in units that are compiled for size (FOVEA_SIZE): fewer ways to run a call, each of which takes more of them.
inline constexpr bool for_size = FOVEA_HAS(FOVEA_SIZE);
}  // namespace fovea::FOVEA_SET
