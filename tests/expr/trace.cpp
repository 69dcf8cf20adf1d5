// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/expr/functions.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/expr/trace.hpp>

#include "catch.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("a lambda becomes the expression it returns", "[expr]") {
    auto const traced = trace_score([](auto s, auto at) { return s + 2 * (at.kv_idx - at.q_idx); });
    STATIC_REQUIRE(std::is_same_v<std::remove_const_t<decltype(traced)>,
                                  std::remove_cvref_t<decltype(score + 2 * (kv_idx - q_idx))>>);
    CHECK(print(trace_mask([](auto at) { return at.kv_idx <= at.q_idx && at.head == at.batch; }))
          == "kv_idx <= q_idx && head == batch");
}

TEST_CASE("a lambda is called once, while the expression is made", "[expr]") {
    int calls = 0;
    auto const traced = trace_score([&](auto s, auto) {
        ++calls;
        return 3 * s;
    });
    CHECK(calls <= 1);
    CHECK(print(traced) == "3 * score");
}

TEST_CASE("functions of FlexAttention are traced in their order", "[expr]") {
    auto const moved = [](auto s, auto b, auto h, auto q_idx, auto kv_idx) { return s + b - 2 * h * (kv_idx - q_idx); };
    STATIC_REQUIRE(std::is_same_v<decltype(trace_score(moved)),
                                  std::remove_cvref_t<decltype(score + batch - 2 * head * (kv_idx - q_idx))>>);
    auto const seen = [](auto b, auto h, auto q_idx, auto kv_idx) { return q_idx >= kv_idx && h == b; };
    CHECK(print(trace_mask(seen)) == "q_idx >= kv_idx && head == batch");
    STATIC_REQUIRE(!traceable_mask<decltype([](int, int, int i, int j) { return i >= j; })>);
    STATIC_REQUIRE(!traceable_mask<decltype([](auto, auto, auto) { return q_idx >= kv_idx; })>);
    STATIC_REQUIRE(!traceable_score<decltype([](float s, int, int, int, int) { return s; })>);
}
