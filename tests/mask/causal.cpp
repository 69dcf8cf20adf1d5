// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/mask/causal.hpp>
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
