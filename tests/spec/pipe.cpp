// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/concat_heads.hpp>
#include <fovea/aggregate/map.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/sliding_window.hpp>
#include <fovea/normalize/reweight.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/score/compare.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

#include "catch.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("the pipe puts every stage in its slot", "[spec]") {
    constexpr auto a = project(as_is, as_is, as_is) | scaled_dot | causal | softmax | weighted_sum;
    STATIC_REQUIRE(std::is_same_v<decltype(a.score), scaled_dot_t>);
    STATIC_REQUIRE(std::is_same_v<decltype(a.mask), causal_t>);
    STATIC_REQUIRE(std::is_same_v<decltype(a.normalize), softmax_t>);
    STATIC_REQUIRE(std::is_same_v<decltype(a.aggregate), weighted_sum_t>);
    STATIC_REQUIRE(std::is_same_v<decltype(a.project), project_t<as_is_t, as_is_t, as_is_t, heads_t<1>>>);
}

TEST_CASE("a specification without run-time data is an empty constant", "[spec]") {
    constexpr auto a = scaled_dot | causal | softmax | weighted_sum;
    STATIC_REQUIRE(std::is_empty_v<std::remove_const_t<decltype(a)>>);
    STATIC_REQUIRE(std::is_trivially_copyable_v<decltype(compare(sum(q * k) / 8) | softmax | weighted_sum)>);
}

TEST_CASE("masks intersect and rescorings compose, in the order in which they are piped", "[spec]") {
    auto const a =
        scaled_dot | rescore(score + 1) | rescore(2 * score) | causal | sliding_window(3, 3) | softmax | weighted_sum;
    CHECK(print(a.score.expression()) == "2 * (sum(q * k) * rsqrt(dim) + 1)");
    CHECK(print(a.mask.predicate()) == "kv_idx <= q_idx && (q_idx - kv_idx <= 3 && kv_idx - q_idx <= 3)");
}

TEST_CASE("run-time numbers reach the record whatever stands beside them", "[spec]") {
    auto const a = compare(7 * sum(q * k) / 8 + 3) | rescore(11 + score) | where(5 + q_idx < kv_idx) | causal
                 | where(9 < kv_idx) | softmax | weighted_sum | map(13 * out);
    CHECK(text(a) == "compare(7 * sum(q * k) / 8 + 3) | rescore(11 + score) | where(5 + q_idx < kv_idx) | causal | "
                     "where(9 < kv_idx) | softmax | weighted_sum | map(13 * out)");
}

TEST_CASE("a chain that was kept is what its parts are, one after the other", "[spec]") {
    auto const tail = softmax | weighted_sum;
    auto const masks = causal | where(kv_idx < 5);
    auto const weights = softmax | reweight(weight * 2);
    auto const scores = scaled_dot | rescore(score * 2) | causal;
    auto const mapped = weighted_sum | map(elu(out));
    auto const same = [](auto const& a, auto const& b) { return std::is_same_v<decltype(a), decltype(b)>; };
    CHECK(same(scaled_dot | tail, scaled_dot | softmax | weighted_sum));
    CHECK(same(scores | tail, scaled_dot | rescore(score * 2) | causal | softmax | weighted_sum));
    CHECK(same(scaled_dot | masks | tail, scaled_dot | causal | where(kv_idx < 5) | softmax | weighted_sum));
    CHECK(same(scaled_dot | causal | masks, scaled_dot | causal | causal | where(kv_idx < 5)));
    CHECK(same(scaled_dot | weights | mapped,
               scaled_dot | softmax | reweight(weight * 2) | weighted_sum | map(elu(out))));
    auto const kept = where(kv_idx < 7) | softmax;
    CHECK(text(scaled_dot | kept | weighted_sum) == "scaled_dot | where(kv_idx < 7) | softmax | weighted_sum");
}

TEST_CASE("can_follow asks whether a stage may be added", "[spec]") {
    using masked = decltype(scaled_dot | causal);
    STATIC_REQUIRE(can_follow<masked, softmax_t>);
    STATIC_REQUIRE(can_follow<masked, causal_t>);
    STATIC_REQUIRE(!can_follow<masked, scaled_dot_t>);
    STATIC_REQUIRE(can_follow<decltype(scaled_dot | softmax), weighted_sum_t>);
    STATIC_REQUIRE(!can_follow<decltype(scaled_dot | softmax), softmax_t>);
    STATIC_REQUIRE(!can_follow<decltype(scaled_dot | softmax), concat_heads_t>);
    STATIC_REQUIRE(can_follow<decltype(scaled_dot | softmax | weighted_sum), concat_heads_t>);
    STATIC_REQUIRE(can_follow<decltype(scaled_dot | softmax | weighted_sum | concat_heads), concat_heads_t>);
    using score_then_change = decltype(rescore(2 * score));
    STATIC_REQUIRE(can_follow<decltype(empty_attention{} | scaled_dot), score_then_change>);
    STATIC_REQUIRE(!can_follow<masked, score_then_change>);
    STATIC_REQUIRE(!can_follow<empty_attention, score_then_change>);
}

TEST_CASE("what is ill-formed swallows what follows", "[spec]") {
    STATIC_REQUIRE(std::is_same_v<decltype(ill_formed{} | softmax | weighted_sum), ill_formed>);
}
