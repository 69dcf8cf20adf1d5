// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

using namespace fovea;

TEST_CASE("as_is cuts the input into heads and changes nothing", "[project]") {
    testing::dice random(1);
    auto const x = testing::random_tensor<double>(random, std::array<index_t, 3>{2, 5, 8});
    tensor<double, 3> joined({2, 5, 8});
    reference::attend(project(as_is, as_is, as_is, heads<4>) | scaled_dot | softmax | weighted_sum, x, joined);

    auto const by_head = split_heads(as_heads(x.view()), 4, "x");
    tensor<double, 4> out({2, 4, 5, 2});
    reference::attend(scaled_dot | softmax | weighted_sum, by_head, by_head, by_head, out);
    for (index_t h = 0; h < 4; ++h)
        for (index_t c = 0; c < 2; ++c) CHECK(joined(1, 3, 2 * h + c) == out(1, h, 3, c));
}

TEST_CASE("as_is keeps the number of features", "[project]") {
    STATIC_REQUIRE(as_is.features(17) == 17);
    CHECK(as_is.text() == "as_is");
}

TEST_CASE("features are cut into heads as they are", "[project]") {
    //! [example]
    tensor<float, 2> x({2, 4}, 1), result({2, 4});
    attend(project(as_is, as_is, as_is, heads<2>) | dot | softmax | weighted_sum, x, result);
    //! [example]
    CHECK(result.elements == x.elements);
}
