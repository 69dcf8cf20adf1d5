// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/score/cosine.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

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
