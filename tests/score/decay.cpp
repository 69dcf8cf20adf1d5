// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/score/decay.hpp>

#include "catch.hpp"
#include "score/rescoring.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("decay multiplies scores by a power of the distance", "[score]") {
    //! [example]
    std::vector<float> const gamma{0.5f, 0.9f};
    auto const fading = decay(gamma);
    //! [example]
    CHECK(describe(fading) == describe(decay(param(gamma)[head])));
    CHECK(rescored_to(fading, 8, 0, 0, 5, 2) == Approx(1));
    CHECK(rescored_to(fading, 1, 0, 1, 9, 2) == Approx(std::pow(static_cast<double>(0.9f), 7)));
    CHECK(rescored_to(decay(0.5), -8, 0, 0, 5, 4) == Approx(-4));
}

TEST_CASE("decay by a number that has no powers is refused", "[score]") {
    for (double const none : {0.0, -1.0, double{INFINITY}, double{NAN}})
        CHECK_THROWS_AS(decay(none), std::invalid_argument);
    CHECK_THROWS_WITH(decay(-1), "decay: gamma is -1, it must be above 0 and finite");
    CHECK_THROWS_AS(decay(param(-0.5f)), std::invalid_argument);
    CHECK_NOTHROW(decay(2));
}
