// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/score/l1_distance.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("l1_distance is a sum of distances", "[score]") {
    //! [example]
    auto const near = l1_distance(2);
    //! [example]
    testing::check_score_laws(near, 7);
    testing::check_score_formula(
        near,
        [](auto query, auto key, auto const&) {
            double s = 0;
            for (std::size_t c = 0; c < query.size(); ++c) s += std::abs(query[c] - key[c]);
            return -s / 2;
        },
        7);
}

TEST_CASE("a width is above 0", "[score]") {
    CHECK_THROWS_WITH(l1_distance(0), "l1_distance: the width is 0, it must be above 0");
    CHECK_THROWS_AS(l1_distance(-2.0f), std::invalid_argument);
}
