// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/plan/blocking.hpp>
#include <fovea/simd/architecture.hpp>

#include "catch.hpp"

using namespace fovea;

namespace {

/// The sums of a tile, a vector of keys for each of its columns, and a query must find room.
template <class T, class Arch>
constexpr bool fits_registers = plan::key_lanes_blocking<T, Arch>::rows * plan::key_lanes_blocking<T, Arch>::nv
                                  + plan::key_lanes_blocking<T, Arch>::nv + 1
                             <= Arch::registers;

template <class T, class Arch>
constexpr bool is_sound = fits_registers<T, Arch>
                       && plan::key_lanes_blocking<T, Arch>::block_rows % plan::key_lanes_blocking<T, Arch>::rows == 0
                       && plan::key_lanes_blocking<T, Arch>::block_keys % plan::key_lanes_blocking<T, Arch>::panel == 0;

/// Tiles prefetch the next block no slower than they use this one: `read` bytes of it at a step. Bytes and not lines,
/// since a tile of wide vectors reads more than a line at once.
template <class Tile>
constexpr bool keeps_pace(index_t read, index_t most) {
    for (index_t tiles = 1; tiles <= most; ++tiles)
        if (Tile::steps_per_line(tiles) > 1 && Tile::steps_per_line(tiles) * read > 64 * tiles) return false;
    return true;
}
template <class T, class Arch>
constexpr bool prefetches_in_time = [] {
    using tile = plan::key_lanes_blocking<T, Arch>;
    using query_lanes = plan::query_lanes_blocking<T, Arch>;
    constexpr auto bytes = static_cast<index_t>(sizeof(T));
    return keeps_pace<tile>(tile::panel * bytes, tile::block_rows / tile::register_rows)
        && keeps_pace<query_lanes>(query_lanes::mr * bytes, query_lanes::block_rows / query_lanes::register_rows);
}();

}  // namespace

TEST_CASE("a block is prefetched by the time the one before it has been used", "[plan]") {
    STATIC_REQUIRE(prefetches_in_time<float, arch::avx512>);
    STATIC_REQUIRE(prefetches_in_time<double, arch::avx512>);
    STATIC_REQUIRE(prefetches_in_time<float, arch::avx2>);
    STATIC_REQUIRE(prefetches_in_time<double, arch::avx2>);
    STATIC_REQUIRE(prefetches_in_time<float, arch::sse2>);
    STATIC_REQUIRE(prefetches_in_time<double, arch::neon>);
}

TEST_CASE("a register tile fits the registers", "[plan]") {
    STATIC_REQUIRE(is_sound<float, arch::avx512>);
    STATIC_REQUIRE(is_sound<float, arch::avx2>);
    STATIC_REQUIRE(is_sound<float, arch::sse2>);
    STATIC_REQUIRE(is_sound<double, arch::neon>);
    STATIC_REQUIRE(is_sound<double, arch::portable>);
}

TEST_CASE("lanes follow from the width of a vector", "[plan]") {
    STATIC_REQUIRE(plan::key_lanes_blocking<float, arch::avx512>::lanes == 16);
    STATIC_REQUIRE(plan::key_lanes_blocking<double, arch::avx512>::lanes == 8);
    STATIC_REQUIRE(plan::key_lanes_blocking<float, arch::portable>::lanes == 4);
}
