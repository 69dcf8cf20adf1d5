// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vectors with what each instruction set does otherwise: what is to be included of them outside of simd/, since a
// vector that is used before it is specialized would be the portable one.
#pragma once

#include <fovea/simd/arch/avx2.hpp>
#include <fovea/simd/arch/avx512.hpp>
#include <fovea/simd/arch/avx512_bf16.hpp>
#include <fovea/simd/arch/neon.hpp>
#include <fovea/simd/arch/portable.hpp>
#include <fovea/simd/arch/sse2.hpp>
#include <fovea/simd/bf16_pairs.hpp>
#include <fovea/simd/lanes.hpp>
#include <fovea/simd/registers.hpp>
#include <fovea/simd/storage.hpp>
