// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/score/dot.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

#include <numeric>

using namespace fovea;

TEST_CASE("dot is the inner product", "[score]") {
    testing::check_score_laws(dot);
    testing::check_score_formula(
        dot, [](auto q, auto k, auto const&) { return std::inner_product(q.begin(), q.end(), k.begin(), 0.0); });
    double const q[] = {1, 2, 3}, k[] = {4, -5, 6};
    CHECK(testing::score_at<double>(dot.expression(), q, k) == 12);
}
