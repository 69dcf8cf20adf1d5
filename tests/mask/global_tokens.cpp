// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/mask/global_tokens.hpp>
#include <fovea/mask/logic.hpp>
#include <fovea/mask/sliding_window.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <stdexcept>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("global tokens see all and are seen by all", "[mask]") {
    testing::check_mask_laws(global_tokens(3));
    testing::check_mask_laws(global_tokens(0));
    testing::check_mask_laws(sliding_window(2, 2), global_tokens(3));
}

TEST_CASE("a count beyond the positions makes all pairs visible, a negative one is refused", "[mask]") {
    CHECK(bound(global_tokens(99).predicate(), box{0, 0, {0, 7}, {0, 7}, 8, 8}).always());
    CHECK_THROWS_AS(global_tokens(-1), std::invalid_argument);
    CHECK_THROWS_WITH(global_tokens(-1), "global_tokens: count is -1, it must be 0 or more");
}

TEST_CASE("beside a window", "[mask]") {
    //! [example]
    auto const mask = sliding_window(2, 2) || global_tokens(1);
    //! [example]
    for (index_t i = 0; i < 10; ++i)
        for (index_t j = 0; j < 10; ++j) {
            reference::index_environment<double> const at{{}, 0, 0, i, j, 10, 10, 8};
            CHECK(evaluate(mask.predicate(), at) == (i == 0 || j == 0 || (i - j <= 2 && j - i <= 2)));
        }
    CHECK(bound(mask.predicate(), box{0, 0, {32, 39}, {8, 20}, 64, 64}).never());
}
