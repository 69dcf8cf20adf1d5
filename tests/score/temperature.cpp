// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/score/temperature.hpp>

#include "catch.hpp"
#include "score/rescoring.hpp"

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
