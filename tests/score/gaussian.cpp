// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/gaussian.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("gaussian is minus half a squared distance", "[score]") {
    testing::check_score_laws(gaussian(1.5), 7);
    testing::check_score_formula(
        gaussian(1.5),
        [](auto query, auto key, auto const&) {
            double s = 0;
            for (std::size_t c = 0; c < query.size(); ++c) s += (query[c] - key[c]) * (query[c] - key[c]);
            return -s / (2 * 1.5 * 1.5);
        },
        7);
}

TEST_CASE("a regression by neighbours", "[score]") {
    //! [example]
    tensor<float, 2> const query({1, 1}, 2);
    tensor<float, 2> key({3, 1}), value({3, 1}), result({1, 1});
    key.elements = {1, 3, 100};
    value.elements = {10, 20, 999};
    attend(gaussian(1) | softmax | weighted_sum, query, key, value, result);
    // 1 and 3 are as far from 2, 100 is far away: result is 15
    //! [example]
    CHECK(result(0, 0) == Approx(15));
}

TEST_CASE("a Gaussian has a width", "[score]") {
    CHECK_THROWS_WITH(gaussian(-1), "gaussian: the width is -1, it must be above 0");
    CHECK_THROWS_AS(gaussian(0.f), std::invalid_argument);
}
