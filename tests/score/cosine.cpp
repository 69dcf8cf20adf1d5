// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/cosine.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

#include <cmath>

using namespace fovea;

namespace {
double cosine_of(std::vector<double> const& q, std::vector<double> const& k) {
    return testing::score_at<double>(cosine.expression(), q, k);
}
}  // namespace

TEST_CASE("cosine is bounded by one and blind to length", "[score]") {
    testing::check_score_laws(cosine);
    testing::dice random(2);
    for (int trial = 0; trial < 50; ++trial) {
        testing::random_pair const pair(random, 9);
        auto const value = cosine_of(pair.q, pair.k);
        auto longer = pair.q;
        for (auto& x : longer) x *= 7;
        CHECK(std::abs(value) <= 1 + 1e-12);
        CHECK(cosine_of(longer, pair.k) == Approx(value));
        CHECK(cosine_of(pair.q, pair.q) == Approx(1));
    }
}

TEST_CASE("a vector of zeros scores zero", "[score]") {
    CHECK(cosine_of({0, 0, 0}, {1, 2, 3}) == 0);
    CHECK(cosine_of({0, 0, 0}, {0, 0, 0}) == 0);
    CHECK(cosine_of({3, 0}, {0, 2}) == 0);
}

TEST_CASE("only the direction counts", "[score]") {
    //! [example]
    tensor<float, 2> query({1, 2}), key({2, 2}), value({2, 1}, 1), result({1, 1}), w({1, 2});
    query.elements = {1, 0};
    key.elements = {100, 0, 0, 1};
    attend(cosine | softmax | weighted_sum, query, key, value, result, weights(w));
    // the cosines are 1 and 0
    //! [example]
    CHECK(w(0, 0) == Approx(std::exp(1) / (std::exp(1) + 1)));
}
