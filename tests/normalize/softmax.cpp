// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/normalize/softmax.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"

#include <cmath>
#include <limits>

using namespace fovea;

namespace {

struct normalized {
    std::vector<double> weights;
    double log_sum;

    explicit normalized(std::vector<double> scores) : weights(std::move(scores)) {
        std::vector<index_t> keys(weights.size());
        std::iota(keys.begin(), keys.end(), index_t{0});
        log_sum = reference::normalize(softmax, reference::row<double>{weights, keys});
    }
};

}  // namespace

TEST_CASE("softmax keeps the laws of a normalizer", "[normalize]") { testing::check_normalizer_laws(softmax); }

TEST_CASE("weights are proportional to the exponential of the score", "[normalize]") {
    testing::dice random(3);
    for (int trial = 0; trial < 50; ++trial) {
        std::vector<double> scores;
        for (index_t j = random.between(1, 20); j > 0; --j) scores.push_back(random.real(-30, 30));
        normalized const row(scores);
        double total = 0;
        for (double const s : scores) total += std::exp(s);
        CHECK(std::accumulate(row.weights.begin(), row.weights.end(), 0.0) == Approx(1));
        CHECK(row.log_sum == Approx(std::log(total)));
        for (std::size_t j = 0; j < scores.size(); ++j) CHECK(row.weights[j] == Approx(std::exp(scores[j]) / total));
    }
}

TEST_CASE("great scores do not overflow", "[normalize]") {
    normalized const row({1e4, 1e4 - 1, -1e4});
    CHECK(row.weights[0] == Approx(1 / (1 + std::exp(-1))));
    CHECK(row.weights[2] == 0);
    CHECK(row.log_sum == Approx(1e4 + std::log1p(std::exp(-1))));
}

TEST_CASE("a row without keys has no weights and no sum", "[normalize]") {
    for (auto const& scores : {std::vector<double>{}, {excluded<double>, excluded<double>}}) {
        normalized const row(scores);
        for (double const w : row.weights) CHECK(w == 0);
        CHECK(row.log_sum == excluded<double>);
    }
}

TEST_CASE("a visible score that is not a number shows", "[normalize]") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    for (auto const& scores : {std::vector<double>{nan}, {1, nan}, {nan, 1, excluded<double>}}) {
        normalized const row(scores);
        CHECK(std::isnan(row.log_sum));
        CHECK(std::isnan(row.weights[0]));
    }
}

TEST_CASE("a fold that grows little rescales nothing", "[normalize]") {
    softmax_t::state<double> state;
    index_t const key[] = {0};
    double first[] = {1}, second[] = {5}, third[] = {50};
    softmax.fold(state, reference::row<double>{first, key});
    CHECK(softmax.fold(state, reference::row<double>{second, key}) == 1);
    CHECK(softmax.fold(state, reference::row<double>{third, key}) == Approx(std::exp(-49)));
}
