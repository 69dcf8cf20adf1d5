// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/mask/dilated_window.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <stdexcept>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("dilated_window shows every step-th key of a band", "[mask]") {
    testing::check_mask_laws(dilated_window(6, 3));
    testing::check_mask_laws(dilated_window(100, 2));
    testing::check_mask_laws(dilated_window(0, 3));
    CHECK(bound(dilated_window(6, 3).predicate(), box{0, 0, {32, 39}, {0, 20}, 64, 64}).never());
}

TEST_CASE("a window without a reach or a step is refused", "[mask]") {
    CHECK_THROWS_AS(dilated_window(-1, 2), std::invalid_argument);
    CHECK_THROWS_WITH(dilated_window(-1, 2), "dilated_window: reach is -1, it must be 0 or more");
    CHECK_THROWS_WITH(dilated_window(2, 0), "dilated_window: step is 0, it must be 1 or more");
}

TEST_CASE("keys between the steps are hidden", "[mask]") {
    //! [example]
    auto const mask = dilated_window(4, 2);  // positions 6, 8, 10, 12 and 14 for the query at 10
    //! [example]
    for (index_t j = 0; j < 20; ++j) {
        reference::index_environment<double> const at{{}, 0, 0, 10, j, 20, 20, 8};
        CHECK(evaluate(mask.predicate(), at) == (j >= 6 && j <= 14 && j % 2 == 0));
    }
}
