// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"

#include <limits>
#include <vector>

using namespace fovea;

TEST_CASE("the allowance grows with what plain loops lose", "[testing]") {
    std::vector<double> const expected{1, 2, 3};
    std::vector<float> const close{1, 2, 3}, far{1, 2.5f, 3};
    auto const narrow = testing::tolerance_for<float, double>(expected, close);
    auto const wide = testing::tolerance_for<float, double>(expected, far);
    CHECK(narrow.absolute == Approx(3e-6));
    CHECK(wide.absolute == Approx(4));
}

TEST_CASE("infinities and NaNs are met by their like only", "[testing]") {
    double const inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    testing::tolerance const t{1e9, 1};
    CHECK(t.allows(inf, inf));
    CHECK_FALSE(t.allows(inf, -inf));
    CHECK_FALSE(t.allows(inf, 1e300));
    CHECK_FALSE(t.allows(1, nan));
    CHECK(t.allows(nan, nan));
}

TEST_CASE("what is too far off is named", "[testing]") {
    std::vector<double> const expected{1, 2};
    std::vector<float> const got{1, 3};
    CHECK_THROWS_WITH((testing::check_close<double, float>("out", expected, got, {0.5, 0})),
                      "out[1] is 3, the reference has 2; allowed are 0.5 + 0 |x|");
    CHECK_NOTHROW(testing::check_close<double, float>("out", expected, got, {1, 0}));
}
