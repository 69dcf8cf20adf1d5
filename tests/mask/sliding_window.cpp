// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/sliding_window.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <stdexcept>
#include <utility>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("sliding_window shows a band of keys", "[mask]") {
    for (auto const& [left, right] : {std::pair{3, 0}, {0, 5}, {2, 2}, {100, 100}, {0, 0}}) {
        auto const window = sliding_window(left, right);
        testing::check_mask_laws(window);
        for (index_t j = 0; j < 20; ++j) {
            reference::index_environment<double> const at{{}, 0, 0, 9, j, 20, 20, 8};
            CHECK(evaluate(window.predicate(), at) == (9 - left <= j && j <= 9 + right));
        }
    }
}

TEST_CASE("a negative size is refused: elsewhere it means no limit", "[mask]") {
    CHECK_THROWS_AS(sliding_window(-1, 0), std::invalid_argument);
    CHECK_THROWS_WITH(sliding_window(-1, 0), "sliding_window: left is -1, it must be 0 or more");
    CHECK_THROWS_WITH(sliding_window(0, -5), "sliding_window: right is -5, it must be 0 or more");
}

TEST_CASE("a window of everything is no mask", "[mask]") {
    testing::detail::check_same_condition("window(100, 100) = everything", sliding_window(100, 100).predicate(),
                                          literal<bool>{true}, {});
}

TEST_CASE("tiles away from the band are never visited", "[mask]") {
    auto const window = sliding_window(4, 0);
    CHECK(bound(window.predicate(), box{0, 0, {32, 39}, {0, 7}, 64, 64}).never());
    CHECK(bound(window.predicate(), box{0, 0, {32, 39}, {48, 55}, 64, 64}).never());
    CHECK(bound(window.predicate(), box{0, 0, {34, 34}, {31, 33}, 64, 64}).always());
}

TEST_CASE("a query sees its surroundings", "[mask]") {
    //! [example]
    tensor<float, 2> const x({5, 1}, 1);
    tensor<float, 2> result({5, 1}), w({5, 5});
    attend(dot | sliding_window(1, 0) | softmax | weighted_sum, x, result, weights(w));
    // every query sees itself and the key before it
    //! [example]
    CHECK(w(0, 0) == Approx(1));
    CHECK(w(3, 2) == Approx(0.5));
    CHECK(w(3, 1) == 0);
}
