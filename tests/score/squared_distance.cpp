// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/reference/attend.hpp>
#include <fovea/score/squared_distance.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

#include <cmath>
#include <type_traits>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("squared_distance is what everybody writes", "[score]") {
    STATIC_REQUIRE(std::is_same_v<decltype(squared_distance(q, k)), decltype(sum(square(q - k)))>);
    STATIC_REQUIRE(std::is_same_v<decltype(squared_distance(2 * q, k, features(0, 3))),
                                  decltype(sum(square(2 * q - k), features(0, 3)))>);
}

TEST_CASE("scores of a distance", "[score]") {
    float const width = 1.5f;
    //! [example]
    auto const kernel = compare(-squared_distance(q, k) / (2 * width * width));
    auto const student = compare(-log(1 + squared_distance(q, k) / 3));
    //! [example]
    auto const squared = [](auto query, auto key) {
        double s = 0;
        for (std::size_t c = 0; c < query.size(); ++c) s += (query[c] - key[c]) * (query[c] - key[c]);
        return s;
    };
    testing::check_score_laws(kernel, 7);
    testing::check_score_formula(
        kernel, [&](auto query, auto key, auto const&) { return -squared(query, key) / 4.5; }, 7);
    testing::check_score_laws(student, 7);
    testing::check_score_formula(
        student, [&](auto query, auto key, auto const&) { return -std::log(1 + squared(query, key) / 3); }, 7);
}
