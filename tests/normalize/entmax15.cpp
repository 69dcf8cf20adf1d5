// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/entmax15.hpp>
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
/// By sorting: tau of the k greatest solves a quadratic equation; the last that is below its kth score is the one.
std::vector<double> by_sorting(std::vector<double> const& scores) {
    auto sorted = scores;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    double const greatest = sorted.front();
    double sum = 0, squares = 0, tau = -1;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        double const x = (sorted[i] - greatest) / 2, k = static_cast<double>(i + 1);
        sum += x;
        squares += x * x;
        double const root = (1 - (squares - sum * sum / k)) / k;
        if (root < 0 || sum / k - std::sqrt(root) > x) break;
        tau = sum / k - std::sqrt(root);
    }
    auto weights = scores;
    for (double& w : weights) w = std::pow(std::max(0.0, (w - greatest) / 2 - tau), 2);
    return weights;
}
}  // namespace

TEST_CASE("entmax15 keeps the laws of a normalizer", "[normalize]") { testing::check_normalizer_laws(entmax15); }

TEST_CASE("entmax15 weights are squares above one number", "[normalize]") {
    testing::dice random(3);
    for (int trial = 0; trial < 50; ++trial) {
        std::vector<double> scores;
        for (index_t j = random.between(1, 30); j > 0; --j) scores.push_back(random.real(-3, 3));
        auto const w = weights_of(entmax15, scores);
        double tau = 0, sum = 0;
        for (std::size_t j = 0; j < w.size(); ++j)
            if (w[j] > 1e-6) tau = scores[j] / 2 - std::sqrt(w[j]);
        for (std::size_t j = 0; j < w.size(); ++j) {
            sum += w[j];
            if (w[j] > 1e-6) CHECK(scores[j] / 2 - std::sqrt(w[j]) == Approx(tau).margin(1e-9));
            else CHECK(scores[j] / 2 <= tau + 1e-2);
        }
        CHECK(sum == Approx(1));
    }
}

TEST_CASE("rows of any length and any size of support are those of sorting in entmax15", "[normalize]") {
    testing::dice random(5);
    for (double const size : {1e-3, 0.1, 2.0, 40.0})
        for (index_t const keys : {1, 2, 100, 257, 300, 3000}) {
            std::vector<double> scores;
            for (index_t j = 0; j < keys; ++j)
                scores.push_back(static_cast<double>(static_cast<float>(random.real(-size, size))));
            auto const expected = by_sorting(scores), got = weights_of(entmax15, scores);
            auto const in_float = weights_of(entmax15, std::vector<float>(scores.begin(), scores.end()));
            for (std::size_t j = 0; j < scores.size(); ++j) {
                CHECK(std::abs(got[j] - expected[j]) <= 1e-13);
                CHECK(std::abs(static_cast<double>(in_float[j]) - expected[j]) <= 1e-6 + 1e-5 * expected[j]);
            }
        }
}

TEST_CASE("a visible score that is not a number shows in entmax15", "[normalize]") {
    double const nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    CHECK(std::isnan(weights_of(entmax15, {1.0, nan, 0.0})[1]));
    CHECK(std::isnan(weights_of(entmax15, {nan})[0]));
    CHECK(std::isnan(weights_of(entmax15, {infinity, 0.0})[0]));
}

TEST_CASE("ties share in entmax15, one far above has all", "[normalize]") {
    CHECK(weights_of(entmax15, {2.0, 2.0})[1] == Approx(0.5));
    CHECK(weights_of(entmax15, {5.0, 3.0, 2.0}) == std::vector<double>{1, 0, 0});
    CHECK(weights_of(entmax15, {1e30, -1e30, 1e29}) == std::vector<double>{1, 0, 0});
    CHECK(weights_of(entmax15, std::vector<float>{-3e38f, 3e38f}) == std::vector<float>{0, 1});
    CHECK(weights_of(entmax15, {-1e30, -1e30, excluded<double>})[1] == Approx(0.5));
}

TEST_CASE("entmax15, fused", "[normalize]") {
    check_fused_at_all_widths<float>(scaled_dot | causal | entmax15 | weighted_sum);
    testing::call_sizes const many{.queries = 5, .keys = 700, .features = 8, .value_features = 3, .magnitude = 0.2};
    check_fused<float>(scaled_dot | entmax15 | weighted_sum, many);  // more keys have weight than are set aside
}

TEST_CASE("entmax15 over the edges of a graph, fused", "[normalize]") {
    auto const g = random_graph(13, 150, 600);
    check_fused<float>(scaled_dot | neighbors(g) | entmax15 | weighted_sum,
                       testing::call_sizes{
                           .heads = 2, .key_heads = 2, .queries = 13, .keys = 150, .features = 4, .value_features = 5});
}

TEST_CASE("a key two behind the best has no weight", "[normalize]") {
    //! [example]
    tensor<float, 2> query({1, 1}, 1), key({3, 1}), value({3, 1}, 1), result({1, 1}), w({1, 3});
    key.elements = {2, 0, 2};
    attend(dot | entmax15 | weighted_sum, query, key, value, result, weights(w));
    // w is {0.5, 0, 0.5}
    //! [example]
    CHECK(w(0, 0) == Approx(0.5));
    CHECK(w(0, 1) == 0);
}

TEST_CASE("entmax15 of a long row sums to one", "[normalize]") { check_sum_of_long_rows(entmax15); }
