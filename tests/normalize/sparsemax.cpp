// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/sparsemax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"
#include "normalize/rows.hpp"
#include "support/fused.hpp"
#include "support/random_graph.hpp"

#include <algorithm>
#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;

namespace {
/// By sorting: the greatest k for which the kth score is above the tau of the k greatest.
std::vector<double> by_sorting(std::vector<double> const& scores) {
    auto sorted = scores;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    double sum = 0, tau = 0;
    for (std::size_t k = 1; k <= sorted.size(); ++k) {
        sum += sorted[k - 1];
        double const next = (sum - 1) / static_cast<double>(k);
        if (!(sorted[k - 1] > next)) break;
        tau = next;
    }
    auto weights = scores;
    for (double& w : weights) w = std::max(0.0, w - tau);
    return weights;
}
}  // namespace

TEST_CASE("sparsemax keeps the laws of a normalizer", "[normalize]") { testing::check_normalizer_laws(sparsemax); }

TEST_CASE("sparsemax is the nearest point of the simplex", "[normalize]") {
    testing::dice random(3);
    for (int trial = 0; trial < 50; ++trial) {
        std::vector<double> scores;
        for (index_t j = random.between(1, 30); j > 0; --j) scores.push_back(random.real(-3, 3));
        auto const w = weights_of(sparsemax, scores);
        // Above 0 all weights are the score less one number; where the weight is 0, the score is below that number.
        double tau = 0, sum = 0;
        for (std::size_t j = 0; j < w.size(); ++j)
            if (w[j] > 0) tau = scores[j] - w[j];
        for (std::size_t j = 0; j < w.size(); ++j) {
            sum += w[j];
            if (w[j] > 0) CHECK(scores[j] - w[j] == Approx(tau));
            else CHECK(scores[j] <= tau + 1e-12);
        }
        CHECK(sum == Approx(1));
    }
}

TEST_CASE("rows of any length and any size of support are those of sorting", "[normalize]") {
    testing::dice random(5);
    for (double const size : {1e-3, 0.1, 2.0, 40.0})
        for (index_t const keys : {1, 2, 100, 257, 300, 3000}) {
            std::vector<double> scores;
            for (index_t j = 0; j < keys; ++j)
                scores.push_back(static_cast<double>(static_cast<float>(random.real(-size, size))));
            auto const expected = by_sorting(scores), got = weights_of(sparsemax, scores);
            auto const in_float = weights_of(sparsemax, std::vector<float>(scores.begin(), scores.end()));
            for (std::size_t j = 0; j < scores.size(); ++j) {
                CHECK(std::abs(got[j] - expected[j]) <= 1e-13);
                CHECK(std::abs(static_cast<double>(in_float[j]) - expected[j]) <= 1e-6 + 1e-5 * expected[j]);
            }
        }
}

TEST_CASE("a key that rounding puts on both sides of tau ends no later than others", "[normalize]") {
    auto const w = weights_of(sparsemax, std::vector<float>{0x1.333334p-3f, 0x1.99999ap-1f, 0x1.666666p-1f,
                                                            0x1.333334p-1f, 0x1.cccccep-2f, 0x1.666666p-1f});
    double const expected[] = {0, 0.35, 0.25, 0.15, 0, 0.25};  // tau is 0.45, and so is the fifth score
    for (std::size_t j = 0; j < w.size(); ++j) CHECK(w[j] == Approx(expected[j]).margin(1e-7));
}

TEST_CASE("a visible score that is not a number shows in sparsemax", "[normalize]") {
    double const nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    CHECK(std::isnan(weights_of(sparsemax, {1.0, nan, 0.0})[1]));
    CHECK(std::isnan(weights_of(sparsemax, {nan})[0]));
    CHECK(std::isnan(weights_of(sparsemax, {infinity, 0.0})[0]));
}

TEST_CASE("ties share, one far above has all, great scores do not overflow", "[normalize]") {
    CHECK(weights_of(sparsemax, {2.0, 2.0, -5.0}) == std::vector<double>{0.5, 0.5, 0});
    CHECK(weights_of(sparsemax, {5.0, 3.0, 4.0}) == std::vector<double>{1, 0, 0});
    CHECK(weights_of(sparsemax, {1e30, -1e30, 1e29}) == std::vector<double>{1, 0, 0});
    CHECK(weights_of(sparsemax, std::vector<float>{-3e38f, 3e38f, 3e38f}) == std::vector<float>{0, 0.5f, 0.5f});
    CHECK(weights_of(sparsemax, {-1e30, -1e30, excluded<double>}) == std::vector<double>{0.5, 0.5, 0});
}

TEST_CASE("sparsemax, fused", "[normalize]") {
    check_fused_at_all_widths<float>(scaled_dot | causal | sparsemax | weighted_sum);
    testing::call_sizes const many{.queries = 5, .keys = 700, .features = 8, .value_features = 3, .magnitude = 0.2};
    check_fused<float>(scaled_dot | sparsemax | weighted_sum, many);  // more keys have weight than are set aside
}

TEST_CASE("sparsemax over the edges of a graph, fused", "[normalize]") {
    auto const g = random_graph(13, 150, 600);
    check_fused<float>(scaled_dot | neighbors(g) | sparsemax | weighted_sum,
                       testing::call_sizes{
                           .heads = 2, .key_heads = 2, .queries = 13, .keys = 150, .features = 4, .value_features = 5});
}

TEST_CASE("keys far behind the best have no weight at all", "[normalize]") {
    //! [example]
    tensor<float, 2> query({1, 1}, 1), key({3, 1}), value({3, 1}, 1), result({1, 1}), w({1, 3});
    key.elements = {1, 0.5f, -1};
    attend(dot | sparsemax | weighted_sum, query, key, value, result, weights(w));
    // w is {0.75, 0.25, 0}
    //! [example]
    CHECK(w.elements == std::vector<float>{0.75f, 0.25f, 0});
}

TEST_CASE("sparsemax of a long row sums to one", "[normalize]") { check_sum_of_long_rows(sparsemax); }
