// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Architectures are types: everything below the plan is a template on one, and a program may run several. This is the
// one file that chooses by what the compiler may use; core/config.hpp only names it.
#pragma once

#include <fovea/core/config.hpp>

#include <concepts>
#include <string_view>

namespace fovea::FOVEA_SET::arch {

/// x86-64 with AVX-512 F, BW, DQ and VL: 64-byte vectors, 32 registers.
struct avx512 {
    static constexpr std::string_view name = "avx512";
    static constexpr int vector_bytes = 64;
    static constexpr int registers = 32;
};

/// avx512 with products of pairs of bfloat16, on processors where these are fast.
struct avx512_bf16 : avx512 {
    static constexpr std::string_view name = "avx512_bf16";
#if !defined(__znver3__) && !defined(__znver4__) && !defined(__znver5__)
    using without_fast_pairs = avx512;  // what code for any vendor runs where they are not (simd/arch/processor.hpp)
#endif
};

/// avx512_bf16 with the matrix unit of AMX: eight tiles of 16 rows of 64 bytes. Pairs in vectors are slow there.
struct avx512_amx : avx512_bf16 {
    static constexpr std::string_view name = "avx512_amx";
    using without_matrix_unit = avx512;  // where it may not be used
};

/// x86-64 with AVX2 and FMA: 32-byte vectors, 16 registers.
struct avx2 {
    static constexpr std::string_view name = "avx2";
    static constexpr int vector_bytes = 32;
    static constexpr int registers = 16;
};

/// The base of x86-64: 16-byte vectors, 16 registers, no fused multiply-add.
struct sse2 {
    static constexpr std::string_view name = "sse2";
    static constexpr int vector_bytes = 16;
    static constexpr int registers = 16;
};

/// AArch64: 16-byte vectors, 32 registers.
struct neon {
    static constexpr std::string_view name = "neon";
    static constexpr int vector_bytes = 16;
    static constexpr int registers = 32;
};

/// Any processor: 16-byte vectors of the compiler's, which become the processor's or plain code.
struct portable {
    static constexpr std::string_view name = "portable";
    static constexpr int vector_bytes = 16;
    static constexpr int registers = 16;
};

/// Vectors of 32 or 64 bytes made of plain arrays: to test widths the machine lacks. With a matrix unit it is that of
/// AMX, in plain C++ as well.
template <int Bytes, int Registers = 16, bool Matrix_unit = false>
    requires(Bytes == 32 || Bytes == 64)
struct emulated {
    static constexpr std::string_view name = Bytes == 32 ? "emulated<32>" : "emulated<64>";
    static constexpr int vector_bytes = Bytes;
    static constexpr int registers = Registers;
};

/// True where an architecture multiplies pairs of bfloat16, summed in float, faster than it converts and multiplies
/// floats (simd/bf16_pairs.hpp). The emulation of its width stands in for it in tests.
template <class Arch>
inline constexpr bool multiplies_bfloat16 = false;
template <>
inline constexpr bool multiplies_bfloat16<avx512_bf16> = true;
template <>
inline constexpr bool multiplies_bfloat16<emulated<64, 32>> = true;

/// True where an architecture multiplies matrices of bfloat16 (simd/matrix_unit.hpp).
template <class Arch>
inline constexpr bool has_matrix_unit = false;
template <std::derived_from<avx512_amx> Arch>
inline constexpr bool has_matrix_unit<Arch> = true;
template <>
inline constexpr bool has_matrix_unit<emulated<64, 32, true>> = true;

/// The cache that lines of later blocks are prefetched to, as __builtin_prefetch counts them: 2 is L2, 3 is L1.
template <class Arch>
inline constexpr int prefetch_locality = 2;
template <>
inline constexpr int prefetch_locality<avx512_bf16> = 3;

// Throughput of vdpbf16ps: on Zen 4 and 5 that of a fused multiply-add, so twice the products; on Intel from Sapphire
// Rapids on a quarter of it, so half the products, whether or not a virtual machine shows the tiles of AMX.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#if defined(__AVX512BF16__) && (FOVEA_HAS(FOVEA_MATRIX_UNIT) || defined(__AMX_BF16__))
using best = avx512_amx;
#elif defined(__AVX512BF16__) && !defined(__AMX_TILE__)
using best = avx512_bf16;
#else
using best = avx512;
#endif
#elif defined(__AVX2__) && defined(__FMA__)
using best = avx2;
#elif defined(__x86_64__)
using best = sse2;
#elif defined(__aarch64__)
using best = neon;
#else
using best = portable;
#endif

}  // namespace fovea::FOVEA_SET::arch
