// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

#include <cmath>
#include <numeric>

using namespace fovea;

TEST_CASE("scaled_dot is the inner product over the root of the number of features", "[score]") {
    testing::check_score_laws(scaled_dot);
    for (index_t const features : {1, 7, 64})
        testing::check_score_formula(
            scaled_dot,
            [](auto q, auto k, auto const&) {
                return std::inner_product(q.begin(), q.end(), k.begin(), 0.0)
                     / std::sqrt(static_cast<double>(q.size()));
            },
            features);
}
