// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/index.hpp>

#include "catch.hpp"

using namespace fovea;

TEST_CASE("quotients round down and remainders have the sign of the divisor", "[core]") {
    for (index_t a = -20; a <= 20; ++a)
        for (index_t b : {-7, -3, -1, 1, 2, 5}) {
            auto const q = floor_divide(a, b), r = floor_modulo(a, b);
            CHECK(q * b + r == a);
            CHECK((b > 0 ? (0 <= r && r < b) : (b < r && r <= 0)));
        }
    STATIC_REQUIRE(floor_divide(-1, 4) == -1);
}

TEST_CASE("a quotient rounded up is the least number of steps that covers", "[core]") {
    for (index_t n = 0; n <= 40; ++n)
        for (index_t step : {1, 2, 7, 8, 41}) {
            auto const steps = ceil_div(n, step);
            CHECK((steps * step >= n && (steps - 1) * step < n));
        }
    STATIC_REQUIRE(ceil_div(9, 8) == 2);
}

TEST_CASE("rounding up gives the next multiple", "[core]") {
    for (index_t n = 0; n <= 40; ++n) {
        auto const up = round_up(n, 8);
        CHECK((up >= n && up < n + 8 && up % 8 == 0));
    }
}
