// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/everything.hpp>
#include <fovea/mask/logic.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <type_traits>

using namespace fovea;

TEST_CASE("everything is visible", "[mask][everything]") {
    testing::check_mask_laws(everything);
    STATIC_REQUIRE(bound(everything.predicate(), box{0, 0, {0, 7}, {0, 7}, 8, 8}).always());
}

TEST_CASE("everything is what stands where no mask does", "[mask][everything]") {
    STATIC_REQUIRE(std::is_same_v<decltype(dot | everything | softmax), decltype(dot | softmax)>);
    STATIC_REQUIRE(std::is_same_v<decltype(dot | causal | everything), decltype(dot | causal)>);
    STATIC_REQUIRE(std::is_same_v<decltype(dot | everything | causal), decltype(dot | causal)>);
    testing::check_mask_laws(causal && everything);
    testing::check_mask_laws(!everything || causal);
}

TEST_CASE("a mask may be an argument", "[mask][everything]") {
    //! [example]
    auto const masked_by = [](auto const& mask) { return dot | mask | softmax | weighted_sum; };
    tensor<float, 2> const x({3, 1}, 1);
    tensor<float, 2> result({3, 1}), w({3, 3});
    attend(masked_by(everything), x, result, weights(w));
    // all of w is 1/3
    //! [example]
    for (float const share : w) CHECK(share == Approx(1.0 / 3));
}
