// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/top_k_softmax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"
#include "normalize/rows.hpp"
#include "support/fused.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("top_k_softmax keeps the laws of a normalizer", "[normalize]") {
    testing::check_normalizer_laws(top_k_softmax(1));
    testing::check_normalizer_laws(top_k_softmax(5));
}

TEST_CASE("the k greatest scores have a softmax among themselves", "[normalize]") {
    testing::dice random(3);
    for (int trial = 0; trial < 60; ++trial) {
        std::vector<double> scores;
        for (index_t j = random.between(1, 20); j > 0; --j)
            scores.push_back(static_cast<double>(random.between(-4, 4)));
        std::vector<std::size_t> order(scores.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(),
                  [&](auto a, auto b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
        auto kept = scores;
        for (std::size_t i = 6; i < order.size(); ++i) kept[order[i]] = excluded<double>;
        auto const expected = weights_of(softmax, kept), got = weights_of(top_k_softmax(6), scores);
        for (std::size_t j = 0; j < scores.size(); ++j) CHECK(got[j] == Approx(expected[j]));
    }
}

TEST_CASE("the kth greatest is found among any scores", "[normalize]") {
    testing::dice random(4);
    for (int kind = 0; kind < 5; ++kind)
        for (index_t const count : {1, 2, 17, 300, 999, 1000, 1001}) {
            std::vector<double> scores(1000);
            for (std::size_t j = 0; j < scores.size(); ++j) {
                double const s = random.real(-1, 1);
                scores[j] = kind == 0 ? s
                          : kind == 1 ? std::copysign(std::pow(10.0, 300 * s), random.real(-1, 1))
                          : kind == 2 ? std::max(0.0, s - 0.9)
                          : kind == 3 ? 1.0
                                      : std::ldexp(1.0, -static_cast<int>(j));
            }
            auto const w = weights_of(top_k_softmax(count), scores);
            auto sorted = scores;
            std::sort(sorted.begin(), sorted.end(), std::greater<>());
            double sum = 0, expected = 0;
            for (std::size_t j = 0; j < scores.size(); ++j) {
                sum += std::exp(scores[j] - sorted[0]) * (w[j] > 0);
                expected += std::exp(sorted[j] - sorted[0]) * (static_cast<index_t>(j) < count);
            }
            CHECK(sum == Approx(expected).epsilon(1e-12));
            CHECK(std::accumulate(w.begin(), w.end(), 0.0) == Approx(1));
        }
}

TEST_CASE("great scores, ties and what is not a number in top_k_softmax", "[normalize]") {
    CHECK(weights_of(top_k_softmax(2), std::vector<float>{-3e38f, 3e38f, 3e38f}) == std::vector<float>{0, 0.5f, 0.5f});
    CHECK(weights_of(top_k_softmax(2), {-1e30, -1e30, excluded<double>, -1e30}) == std::vector<double>{0.5, 0.5, 0, 0});
    CHECK_THROWS_AS(top_k_softmax(0), std::invalid_argument);
    CHECK(std::isnan(weights_of(top_k_softmax(1), {1.0, std::nan("")})[1]));
}

TEST_CASE("top_k_softmax, fused", "[normalize]") {
    check_fused_at_all_widths<float>(scaled_dot | causal | top_k_softmax(3) | weighted_sum);
}

TEST_CASE("top_k_softmax is a name for what keeps and then normalizes", "[normalize]") {
    CHECK(text(dot | top_k_softmax(3) | weighted_sum) == "dot | keep(top_k(3)) | softmax | weighted_sum");
    CHECK(weights_of(top_k_softmax(1), {1.0, 2.0})[1] == 1);
}

TEST_CASE("ties go to the lowest keys, in whatever order a graph lists them", "[normalize]") {
    std::vector<graph::edge> const edges{{0, 2}, {0, 1}, {0, 0}};
    graph const g(1, edges);
    tensor<float, 2> query({1, 1}, 1), key({3, 1}, 1), value({3, 1}), result({1, 1}), w({1, 3});
    attend(dot | neighbors(g) | top_k_softmax(2) | weighted_sum, query, key, value, result, weights(w));
    CHECK(w.elements == std::vector<float>{0.5f, 0.5f, 0});
}

TEST_CASE("only the best keys are looked at", "[normalize]") {
    //! [example]
    tensor<float, 2> query({1, 1}, 1), key({4, 1}), value({4, 1}, 1), result({1, 1}), w({1, 4});
    key.elements = {3, 1, 3, 2};
    attend(dot | top_k_softmax(2) | weighted_sum, query, key, value, result, weights(w));
    // w is {0.5, 0, 0.5, 0}
    //! [example]
    CHECK(w.elements == std::vector<float>{0.5f, 0, 0.5f, 0});
}
