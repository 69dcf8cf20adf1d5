// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("where follows any condition over the indices", "[mask]") {
    testing::check_mask_laws(where(q_idx - kv_idx < 7));
    testing::check_mask_laws(where((q_idx / 4 + kv_idx) % 3 != head));
    testing::check_mask_laws(where(kv_idx < kv_len - 3 * batch));
    testing::check_mask_laws(where(q_idx < 3 || kv_idx < 2 || q_idx == kv_idx));
}

TEST_CASE("documents that are packed one after another see themselves", "[mask]") {
    std::vector<int> documents;
    for (int i = 0; i < 31; ++i) documents.push_back(i < 4 ? 0 : i < 17 ? 1 : 2);
    auto const same = where(param(documents)[q_idx] == param(documents)[kv_idx]);
    testing::check_mask_laws(same);
    testing::check_mask_laws(causal, same);
    CHECK(bound(same.predicate(), box{0, 0, {4, 9}, {10, 16}, 29, 31}).always());
    CHECK(bound(same.predicate(), box{0, 0, {0, 3}, {17, 30}, 29, 31}).never());
}

TEST_CASE("a lambda is traced once", "[mask]") {
    auto const traced = where([](auto at) { return at.kv_idx <= at.q_idx; });
    STATIC_REQUIRE(std::is_same_v<decltype(traced), decltype(where(kv_idx <= q_idx)) const>);
    CHECK(describe(traced) == "where(kv_idx <= q_idx)");
    auto const mask_mod = where([](auto, auto, auto q_idx, auto kv_idx) { return q_idx - kv_idx < 4; });
    STATIC_REQUIRE(std::is_same_v<decltype(mask_mod), decltype(where(q_idx - kv_idx < 4)) const>);
}

TEST_CASE("any condition over indices is a mask", "[mask]") {
    //! [example]
    tensor<float, 2> const x({4, 1}, 1);
    tensor<float, 2> result({4, 1}), w({4, 4});
    attend(dot | where((q_idx - kv_idx) % 2 == 0) | softmax | weighted_sum, x, result, weights(w));
    // even positions see even ones, odd positions odd ones
    //! [example]
    CHECK(w(1, 3) == Approx(0.5));
    CHECK(w(1, 2) == 0);
}
