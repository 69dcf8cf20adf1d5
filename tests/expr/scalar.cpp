// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/expr/scalar.hpp>

#include "catch.hpp"

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

TEST_CASE("a NaN in the second operand of min and max stays", "[expr]") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(std::isnan(scalar::max(1.0, nan)));
    CHECK(std::isnan(scalar::min(1.0, nan)));
    CHECK(std::isnan(scalar::max(0, nan)));
}
