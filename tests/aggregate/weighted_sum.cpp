// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/laws.hpp>

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

TEST_CASE("values are added with their weights", "[aggregate]") {
    //! [example]
    tensor<float, 2> const query({1, 1}, 0), key({4, 1}, 1);
    tensor<float, 2> value({4, 1}), result({1, 1});
    value.elements = {1, 2, 3, 6};
    attend(dot | softmax | weighted_sum, query, key, value, result);
    // all scores are 0, so all weights are 1/4
    //! [example]
    CHECK(result(0, 0) == Approx(3));
}
