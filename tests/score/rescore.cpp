// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
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

TEST_CASE("a new score from the old one", "[score]") {
    //! [example]
    tensor<float, 2> const x({2, 1}, 1);
    tensor<float, 2> result({2, 1}), w({2, 2});
    attend(dot | rescore(score + 2 * (kv_idx - q_idx)) | softmax | weighted_sum, x, result, weights(w));
    // the scores of the first query are 1 and 3
    //! [example]
    CHECK(w(0, 1) == Approx(1 / (1 + std::exp(-2))));
}
