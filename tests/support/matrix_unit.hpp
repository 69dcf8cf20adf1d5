// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/simd/matrix_unit.hpp>

/// with_matrix_unit: an architecture whose matrix unit tests can use. That of the machine where `./run tiles` says so,
/// its emulation otherwise, beside the vectors of AVX-512 where there are those, or emulated ones.
#if defined(FOVEA_TEST_MATRIX_UNIT)
using with_matrix_unit = fovea::arch::avx512_amx;
#elif defined(__AVX512BF16__)
namespace fovea::FOVEA_SET {
namespace arch {
struct avx512_and_emulation : avx512_amx {
    static constexpr std::string_view name = "avx512, emulated matrix unit";
};
}  // namespace arch
namespace kernel {
template <>
struct matrix_unit<arch::avx512_and_emulation> : emulated_matrix_unit {};
}  // namespace kernel
}  // namespace fovea::FOVEA_SET
using with_matrix_unit = fovea::arch::avx512_and_emulation;
#else
using with_matrix_unit = fovea::arch::emulated<64, 32, true>;
#endif
