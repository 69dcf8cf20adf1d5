// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/score/dot.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

#include <cmath>
#include <numeric>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {
double inner(std::span<double const> query, std::span<double const> key) {
    return std::inner_product(query.begin(), query.end(), key.begin(), 0.0);
}
}  // namespace

TEST_CASE("rescorings compose in the order in which they are piped", "[score]") {
    std::vector<float> const slopes{0.5f, 0.25f, 0.125f, 0.0625f};
    auto const biased = dot | rescore(score + param(slopes)[head] * (kv_idx - q_idx)) | rescore(50 * tanh(score / 50));
    testing::check_score_formula(biased.score, [&](auto query, auto key, auto const& at) {
        auto const slope = static_cast<double>(slopes[static_cast<std::size_t>(at.head)]);
        return 50 * std::tanh((inner(query, key) + slope * static_cast<double>(at.key - at.query)) / 50);
    });
    testing::check_score_laws(biased.score);
}

TEST_CASE("the name score may occur more than once", "[score]") {
    testing::check_score_formula((dot | rescore(score * score - score)).score, [](auto query, auto key, auto const&) {
        auto const s = inner(query, key);
        return s * s - s;
    });
}

TEST_CASE("a lambda is traced once", "[score]") {
    auto const traced = rescore([](auto s, auto at) { return s + 2 * at.kv_idx; });
    STATIC_REQUIRE(std::is_same_v<decltype(traced), decltype(rescore(score + 2 * kv_idx)) const>);
    CHECK(describe(traced) == "rescore(score + 2 * kv_idx)");
}
