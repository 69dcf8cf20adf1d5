// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"
#include "normalize/rows.hpp"

#include <cmath>
#include <limits>
#include <vector>

using namespace fovea;

namespace {

struct normalized_row {
    std::vector<double> weights;
    double log_sum;

    explicit normalized_row(std::vector<double> scores) : weights(std::move(scores)) {
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
        normalized_row const row(scores);
        double total = 0;
        for (double const s : scores) total += std::exp(s);
        CHECK(std::accumulate(row.weights.begin(), row.weights.end(), 0.0) == Approx(1));
        CHECK(row.log_sum == Approx(std::log(total)));
        for (std::size_t j = 0; j < scores.size(); ++j) CHECK(row.weights[j] == Approx(std::exp(scores[j]) / total));
    }
}

TEST_CASE("great scores do not overflow", "[normalize]") {
    normalized_row const row({1e4, 1e4 - 1, -1e4});
    CHECK(row.weights[0] == Approx(1 / (1 + std::exp(-1))));
    CHECK(row.weights[2] == 0);
    CHECK(row.log_sum == Approx(1e4 + std::log1p(std::exp(-1))));
}

TEST_CASE("scores of any size have weights and a sum", "[normalize]") {
    double const most = std::numeric_limits<double>::max();
    for (double const s : {1e9, 1e17, 1e19, 1e30, most}) {
        normalized_row const ends({s, -s, 0, s});
        CHECK(ends.weights[0] == Approx(0.5));
        CHECK(ends.weights[1] == 0);
        CHECK(ends.weights[3] == Approx(0.5));
        CHECK(ends.log_sum == Approx(s));
        normalized_row const low({-s, -s, excluded<double>});  // masks by addition look like that
        CHECK(low.weights[0] == Approx(0.5));
        CHECK(low.weights[2] == 0);
        CHECK(low.log_sum == Approx(-s));
        CHECK(normalized_row({-s, 3, excluded<double>}).weights == std::vector<double>{0, 1, 0});
        softmax_t::state<double> state;
        index_t const key[] = {0};
        double first[] = {-s}, second[] = {s};
        softmax.fold(state, reference::row<double>{first, key});
        CHECK(softmax.fold(state, reference::row<double>{second, key}) == 0);
        CHECK(second[0] * softmax.finish(state) == Approx(1));
    }
    for (float const s : {1e5f, 1e9f, 5e9f, 1e30f, 3.4e38f}) {
        std::vector<float> row{s, -s, s};
        std::vector<index_t> const keys{0, 1, 2};
        CHECK(reference::normalize(softmax, reference::row<float>{row, keys}) == Approx(s));
        CHECK(row[0] == Approx(0.5));
        CHECK(row[1] == 0);
    }
}

TEST_CASE("a row without keys has no weights and no sum", "[normalize]") {
    for (auto const& scores : {std::vector<double>{}, {excluded<double>, excluded<double>}}) {
        normalized_row const row(scores);
        for (double const w : row.weights) CHECK(w == 0);
        CHECK(row.log_sum == excluded<double>);
    }
}

TEST_CASE("a visible score that is not a number shows", "[normalize]") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    for (auto const& scores : {std::vector<double>{nan}, {1, nan}, {nan, 1, excluded<double>}}) {
        normalized_row const row(scores);
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

TEST_CASE("weights sum to one", "[normalize]") {
    //! [example]
    tensor<float, 2> query({1, 1}, 1), key({2, 1}), value({2, 1}, 1), result({1, 1}), w({1, 2});
    key.elements = {0, static_cast<float>(std::log(3))};
    tensor<float, 1> log_sum({1});
    attend(dot | softmax | weighted_sum, query, key, value, result, weights(w), lse(log_sum));
    // exp of the scores is 1 and 3: w is {1/4, 3/4}, the log-sum-exp is log(4)
    //! [example]
    CHECK(w(0, 0) == Approx(0.25));
    CHECK(w(0, 1) == Approx(0.75));
    CHECK(log_sum(0) == Approx(std::log(4)));
}

TEST_CASE("softmax of a long row sums to one", "[normalize]") { check_sum_of_long_rows(softmax); }
