// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/plan/tile.hpp>
#include <fovea/simd/architecture.hpp>

#include "catch.hpp"

using namespace fovea;

namespace {

/// The sums of a tile, a vector of keys for each of its columns, and a query must find room.
template <class T, class Arch>
constexpr bool fits_registers =
    plan::tile<T, Arch>::rows * plan::tile<T, Arch>::nv + plan::tile<T, Arch>::nv + 1 <= Arch::registers;

template <class T, class Arch>
constexpr bool is_sound = fits_registers<T, Arch> && plan::tile<T, Arch>::block_rows % plan::tile<T, Arch>::rows == 0
                       && plan::tile<T, Arch>::block_keys % plan::tile<T, Arch>::panel == 0;

}  // namespace

TEST_CASE("a register tile fits the registers", "[plan]") {
    STATIC_REQUIRE(is_sound<float, arch::avx512>);
    STATIC_REQUIRE(is_sound<float, arch::avx2>);
    STATIC_REQUIRE(is_sound<float, arch::sse2>);
    STATIC_REQUIRE(is_sound<double, arch::neon>);
    STATIC_REQUIRE(is_sound<double, arch::emulated<16>>);
}

TEST_CASE("lanes follow from the width of a vector", "[plan]") {
    STATIC_REQUIRE(plan::tile<float, arch::avx512>::lanes == 16);
    STATIC_REQUIRE(plan::tile<double, arch::avx512>::lanes == 8);
    STATIC_REQUIRE(plan::tile<float, arch::emulated<16>>::lanes == 4);
}
