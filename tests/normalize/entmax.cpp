// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/entmax.hpp>
#include <fovea/normalize/entmax15.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/sparsemax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"
#include "normalize/rows.hpp"
#include "support/fused.hpp"
#include "support/random_graph.hpp"

#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("entmax keeps the laws of a normalizer", "[normalize]") {
    testing::check_normalizer_laws(entmax(1.3));
    testing::check_normalizer_laws(entmax(1.8));
}

TEST_CASE("entmax is entmax15 for 1.5, sparsemax for 2, and near 1 nearly softmax", "[normalize]") {
    testing::dice random(3);
    for (int trial = 0; trial < 30; ++trial) {
        std::vector<double> scores;
        for (index_t j = random.between(1, 30); j > 0; --j) scores.push_back(random.real(-2, 2));
        auto const one_and_a_half = weights_of(entmax(1.5), scores), two = weights_of(entmax(2), scores);
        auto const little_above_one = weights_of(entmax(1.0001), scores);
        auto const fifteen = weights_of(entmax15, scores), sparse = weights_of(sparsemax, scores);
        auto const soft = weights_of(softmax, scores);
        for (std::size_t j = 0; j < scores.size(); ++j) {
            CHECK(one_and_a_half[j] == Approx(fifteen[j]).margin(1e-12));
            CHECK(two[j] == Approx(sparse[j]).margin(1e-12));
            CHECK(little_above_one[j] == Approx(soft[j]).margin(1e-3));
        }
    }
}

TEST_CASE("entmax weights are powers above one number, for any alpha and any length", "[normalize]") {
    testing::dice random(5);
    for (double const alpha : {1.05, 1.2, 1.7, 2.0, 2.5, 4.0})
        for (index_t const keys : {1, 3, 100, 300, 2000}) {
            std::vector<double> scores;
            for (index_t j = 0; j < keys; ++j)
                scores.push_back(static_cast<double>(static_cast<float>(random.real(-3, 3))));
            auto const w = weights_of(entmax(alpha), scores);
            auto const in_float = weights_of(entmax(alpha), std::vector<float>(scores.begin(), scores.end()));
            double sum = 0, tau = 0, greatest = 0;
            for (std::size_t j = 0; j < w.size(); ++j) {
                sum += w[j];
                greatest = std::max(greatest, w[j]);
                if (w[j] == greatest) tau = (alpha - 1) * scores[j] - std::pow(w[j], alpha - 1);
            }
            CHECK(sum == Approx(1).epsilon(1e-13));
            for (std::size_t j = 0; j < w.size(); ++j) {
                double const base = (alpha - 1) * scores[j] - tau;
                CHECK(std::abs(std::pow(w[j], alpha - 1) - std::max(0.0, base)) <= 1e-12);
                if (alpha <= 2)  // beyond it small weights have a slope without bound
                    CHECK(std::abs(static_cast<double>(in_float[j]) - w[j]) <= 1e-6 + 1e-5 * w[j]);
            }
        }
}

TEST_CASE("ties share in entmax, one far above has all", "[normalize]") {
    for (double const alpha : {1.1, 1.5, 2.0, 5.0}) {
        CHECK(weights_of(entmax(alpha), {2.0, -50.0, 2.0})[2] == Approx(0.5));
        CHECK(weights_of(entmax(alpha), {1e30, -1e30, 1e29}) == std::vector<double>{1, 0, 0});
        CHECK(weights_of(entmax(alpha), std::vector<float>{-3e38f, 3e38f}) == std::vector<float>{0, 1});
        CHECK(weights_of(entmax(alpha), {-1e30, -1e30, excluded<double>})[1] == Approx(0.5));
        CHECK(std::isnan(weights_of(entmax(alpha), {1.0, std::nan("")})[1]));
        CHECK(std::isnan(weights_of(entmax(alpha), {std::nan("")})[0]));
    }
}

TEST_CASE("entmax needs an alpha above 1", "[normalize]") {
    CHECK_THROWS_WITH(entmax(1), "entmax: alpha is 1, it must be finite and above 1");
}

TEST_CASE("entmax, fused", "[normalize]") {
    check_fused_at_all_widths<float>(scaled_dot | causal | entmax(1.3) | weighted_sum);
    testing::call_sizes const many{.queries = 5, .keys = 700, .features = 8, .value_features = 3, .magnitude = 0.2};
    check_fused<float>(scaled_dot | entmax(1.3) | weighted_sum, many);  // more keys have weight than are set aside
}

TEST_CASE("entmax over the edges of a graph, fused", "[normalize]") {
    auto const g = random_graph(13, 150, 600);
    check_fused<float>(scaled_dot | neighbors(g) | entmax(1.7) | weighted_sum,
                       testing::call_sizes{
                           .heads = 2, .key_heads = 2, .queries = 13, .keys = 150, .features = 4, .value_features = 5});
}

TEST_CASE("the greater alpha, the fewer keys have weight", "[normalize]") {
    //! [example]
    tensor<float, 2> query({1, 1}, 1), key({3, 1}), value({3, 1}, 1), result({1, 1}), some({1, 3}), all({1, 3});
    key.elements = {1.5f, 1, 0};
    attend(dot | entmax(2) | weighted_sum, query, key, value, result, weights(some));
    attend(dot | entmax(1.1) | weighted_sum, query, key, value, result, weights(all));
    // the last key has weight 0 in some, and not in all
    //! [example]
    CHECK(some(0, 2) == 0);
    CHECK(all(0, 2) > 0.1f);
}

TEST_CASE("entmax of a long row sums to one", "[normalize]") {
    for (double const alpha : {1.0001, 1.01, 1.3, 1.5, 2.0, 4.0}) {
        CAPTURE(alpha);
        check_sum_of_long_rows(entmax(alpha));
    }
}
