// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/tensor.hpp>
#include <fovea/score/relative_bias.hpp>

#include "catch.hpp"
#include "score/rescoring.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("relative_bias reads a table by distance", "[score]") {
    //! [example]
    tensor<float, 2> table({2, 5});  // two heads, distances -2 to 2
    for (index_t h = 0; h < 2; ++h)
        for (index_t d = -2; d <= 2; ++d) table(h, d + 2) = static_cast<float>(10 * h + d);
    auto const by_distance = relative_bias(table);
    //! [example]
    CHECK(rescored_to(by_distance, 1, 0, 0, 7, 7) == 1);
    CHECK(rescored_to(by_distance, 1, 0, 1, 7, 8) == 1 + 10 + 1);
    CHECK(rescored_to(by_distance, 1, 0, 0, 7, 0) == 1 - 2);
    CHECK(rescored_to(by_distance, 1, 0, 0, 0, 60) == 1 + 2);
}

TEST_CASE("a table of distances has one for 0 and as many on both sides", "[score]") {
    tensor<float, 2> const even({2, 4}), none({2, 0});
    CHECK_THROWS_WITH(relative_bias(even),
                      "relative_bias: a table of 4 distances: it needs 2 reach + 1, an odd number");
    CHECK_THROWS_AS(relative_bias(none), shape_error);
}
