// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/softmax_with_sink.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"
#include "normalize/rows.hpp"
#include "support/fused.hpp"

#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

std::vector<float> const sinks{1, -2, 0.5f, 3, 40, -30, 100, 0};

}  // namespace

TEST_CASE("a sink is one more key without a value", "[normalize]") {
    auto const with_sink = detail::softmax_beside<double>{{}, 2.5};
    testing::check_normalizer_laws(with_sink);
    testing::dice random(2);
    for (int trial = 0; trial < 50; ++trial) {
        std::vector<double> scores;
        for (index_t j = random.between(1, 20); j > 0; --j) scores.push_back(random.real(-30, 30));
        auto beside = scores;
        beside.push_back(2.5);
        auto const expected = weights_of(softmax, beside);
        auto const got = weights_of(with_sink, scores);
        for (std::size_t j = 0; j < scores.size(); ++j) CHECK(got[j] == Approx(expected[j]));
    }
}

TEST_CASE("sinks far above and far below all scores", "[normalize]") {
    CHECK(weights_of(detail::softmax_beside<double>{{}, 1e4}, {1.0, 2.0}) == std::vector<double>{0, 0});
    CHECK(weights_of(detail::softmax_beside<double>{{}, -1e4}, {1.0, 1.0})[0] == Approx(0.5));
    CHECK(weights_of(detail::softmax_beside<double>{{}, 1e4}, {1e4, excluded<double>})[0] == Approx(0.5));
}

TEST_CASE("the maximum and the sum of a row give its weights again, with the sink", "[normalize]") {
    std::vector<double> const scores{1, 3, -2.5};
    for (double const sink : {-1e4, 0.0, 2.9, 3.0, 3.1, 1e4}) {
        auto const with_sink = detail::softmax_beside<double>{{}, sink};
        double sum = 0;
        for (double const s : scores) sum += std::exp(s - 3);
        auto const [max, whole] = with_sink.max_and_sum(softmax_t::state<double>{3, sum});
        auto const expected = weights_of(with_sink, scores);
        for (std::size_t j = 0; j < scores.size(); ++j)
            CHECK(std::exp(scores[j] - max) / whole == Approx(expected[j]).margin(1e-300));
    }
    CHECK(detail::softmax_beside<double>{{}, 2.0}.max_and_sum(softmax_t::state<double>{}).second == 0);
}

TEST_CASE("a sink for each head, fused", "[normalize]") {
    CHECK(describe(softmax_with_sink(sinks)) == describe(softmax_with_sink(param(sinks)[head])));
    check_fused_at_all_widths<float>(scaled_dot | causal | softmax_with_sink(sinks) | weighted_sum);
}

TEST_CASE("a sink beside the edges of a graph", "[normalize]") {
    std::vector<graph::edge> const edges{{0, 1}, {1, 0}, {1, 1}};
    graph const g(2, edges);
    tensor<float, 2> const x({2, 1}, 1);
    tensor<float, 2> result({2, 1});
    attend(dot | neighbors(g) | softmax_with_sink(1) | weighted_sum, x, result);
    CHECK(result(0, 0) == Approx(0.5));
    CHECK(result(1, 0) == Approx(2.0 / 3));
}

TEST_CASE("what the sink takes is missing from the weights", "[normalize]") {
    //! [example]
    tensor<float, 2> const x({2, 1}, 0);
    tensor<float, 2> result({2, 1}), shares({2, 2});
    tensor<float, 1> sums({2});
    attend(dot | softmax_with_sink(0) | weighted_sum, x, result, weights(shares), lse(sums));
    // two keys and the sink have score 0: each has a third, and the log-sum-exp is log(3)
    //! [example]
    for (float const w : shares) CHECK(w == Approx(1.0 / 3));
    CHECK(sums(0) == Approx(std::log(3)));
}
