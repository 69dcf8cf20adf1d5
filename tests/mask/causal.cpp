// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

using namespace fovea;

TEST_CASE("causal shows the keys up to the query's own position", "[mask]") {
    testing::check_mask_laws(causal);
    testing::check_mask_laws(causal, testing::lengths{40, 7, 1, 1});
    constexpr auto of = [](index_t i, interval<index_t> keys) {
        return bound(causal.predicate(), box{0, 0, i, keys, 8, 8});
    };
    STATIC_REQUIRE(of(3, {0, 3}).always());
    STATIC_REQUIRE(of(3, {4, 7}).never());
    STATIC_REQUIRE(of(3, {3, 4}) == truth{});
}

TEST_CASE("tiles on either side of the diagonal are settled", "[mask]") {
    STATIC_REQUIRE(bound(causal.predicate(), box{0, 0, {8, 15}, {0, 7}, 32, 32}).always());
    STATIC_REQUIRE(bound(causal.predicate(), box{0, 0, {0, 7}, {0, 7}, 32, 32}) == truth{});
    STATIC_REQUIRE(bound(causal.predicate(), box{0, 0, {0, 7}, {8, 15}, 32, 32}).never());
}

TEST_CASE("no query sees what comes after it", "[mask]") {
    //! [example]
    tensor<float, 2> const x({3, 1}, 1);
    tensor<float, 2> result({3, 1}), w({3, 3});
    attend(dot | causal | softmax | weighted_sum, x, result, weights(w));
    // w is {1, 0, 0}, {1/2, 1/2, 0}, {1/3, 1/3, 1/3}
    //! [example]
    CHECK(w(0, 1) == 0);
    CHECK(w(1, 1) == Approx(0.5));
    CHECK(w(2, 0) == Approx(1.0 / 3));
}
