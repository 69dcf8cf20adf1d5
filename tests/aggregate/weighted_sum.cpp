// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/testing/aggregator_laws.hpp>

#include "catch.hpp"

using namespace fovea;

namespace {
double sum_of(std::initializer_list<double> weights, std::initializer_list<double> values) {
    double sum = 0;
    auto value = values.begin();
    for (double const w : weights) sum = weighted_sum.step(sum, w, *value++);
    return sum;
}
}  // namespace

TEST_CASE("weighted_sum keeps the laws of an aggregator", "[aggregate]") {
    testing::check_aggregator_laws(weighted_sum);
    STATIC_REQUIRE(weighted_sum.linear);
}

TEST_CASE("exact and fuzzy retrieval", "[aggregate]") {
    CHECK(sum_of({.9, .1, 0}, {1000, 2000, 3000}) == Approx(1100));
    CHECK(sum_of({1, 0, 0}, {1000, 2000, 3000}) == 1000);
    CHECK(sum_of({0, 0, 0, .4, .6}, {1, 2, 3, 40, 50}) == Approx(.4 * 40 + .6 * 50));
}
