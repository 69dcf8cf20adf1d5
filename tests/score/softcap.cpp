// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/score/softcap.hpp>

#include "catch.hpp"
#include "score/rescoring.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

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

TEST_CASE("a cap that limits nothing is refused", "[score]") {
    for (double const cap : {0.0, -1.0, double{INFINITY}, double{NAN}})
        CHECK_THROWS_AS(softcap(cap), std::invalid_argument);
    CHECK_THROWS_WITH(softcap(-1), "softcap: the cap is -1, it must be above 0 and finite");
    CHECK_THROWS_WITH(softcap(param(0.f)), "softcap: the cap is 0, it must be above 0 and finite");
}

TEST_CASE("heads whose cap is 0 or below are not capped", "[score]") {
    std::vector<float> const caps{0, -1, 2};
    auto const capped = softcap(param(caps)[head]);
    for (double const s : {-1e6, -0.5, 0.0, 3.0}) {
        CHECK(rescored_to(capped, s, 0, 0) == s);
        CHECK(rescored_to(capped, s, 0, 1) == s);
        CHECK(rescored_to(capped, s, 0, 2) == Approx(2 * std::tanh(s / 2)));
    }
    CHECK(std::isnan(rescored_to(softcap(param(0.f / 0.f) + 0 * kv_idx), 1)));
}
