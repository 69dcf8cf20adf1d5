// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/expr/scalar.hpp>

#include "catch.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

using namespace fovea;

TEST_CASE("numbers keep their kind", "[expr]") {
    STATIC_REQUIRE(std::is_same_v<decltype(scalar::divide(1, 2)), index_t>);
    STATIC_REQUIRE(std::is_same_v<decltype(scalar::divide(1.f, 2)), float>);
    STATIC_REQUIRE(std::is_same_v<decltype(scalar::divide(1, 2.0)), double>);
    STATIC_REQUIRE(std::is_same_v<decltype(scalar::max(1.f, 2)), float>);
    STATIC_REQUIRE(scalar::divide(-7, 2) == -4);
    STATIC_REQUIRE(scalar::modulo(-7, 2) == 1);
    STATIC_REQUIRE(scalar::select(true, 1, 2.5) == 1.0);
}

TEST_CASE("min and max of numbers are those of std, in either order", "[expr]") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    for (double const a : {1.0, -2.0, 0.0, -0.0, nan})
        for (double const b : {1.0, -2.0, 0.0, -0.0, nan}) {
            CHECK(std::bit_cast<std::uint64_t>(scalar::max(a, b)) == std::bit_cast<std::uint64_t>(std::max(a, b)));
            CHECK(std::bit_cast<std::uint64_t>(scalar::min(a, b)) == std::bit_cast<std::uint64_t>(std::min(a, b)));
        }
    CHECK(std::isnan(scalar::max(nan, 0)));
    CHECK(scalar::max(0, nan) == 0);
}
