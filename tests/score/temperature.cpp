// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/score/temperature.hpp>

#include "catch.hpp"
#include "score/rescoring.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("temperature divides scores", "[score]") {
    //! [example]
    std::vector<float> const of_head{1, 2, 0.5f};
    auto const spread = temperature(param(of_head)[head]);
    //! [example]
    CHECK(rescored_to(spread, 3, 0, 1) == 1.5);
    CHECK(rescored_to(spread, 3, 0, 2) == 6);
    CHECK(rescored_to(temperature(4), 3) == 0.75);
}

TEST_CASE("scores are not divided by 0", "[score]") {
    CHECK_THROWS_WITH(temperature(0), "temperature: t is 0, it must be a number other than 0");
    CHECK_THROWS_AS(temperature(param(-0.0)), std::invalid_argument);
    CHECK_THROWS_AS(temperature(double{NAN}), std::invalid_argument);
    CHECK(rescored_to(temperature(-2), 3) == -1.5);
}
