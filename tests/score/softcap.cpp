// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/score/softcap.hpp>

#include "catch.hpp"
#include "score/rescoring.hpp"

#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("softcap keeps scores between two bounds", "[score]") {
    //! [example]
    auto const capped = softcap(50);
    //! [example]
    for (double const s : {-1e6, -70.0, -1.0, 0.0, 0.5, 49.0, 1e6}) {
        CHECK(rescored_to(capped, s) == Approx(50 * std::tanh(s / 50)));
        CHECK(std::abs(rescored_to(capped, s)) <= 50);
    }
}
