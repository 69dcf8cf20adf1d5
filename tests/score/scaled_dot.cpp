// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>
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

TEST_CASE("products are divided by the root of the size", "[score]") {
    //! [example]
    tensor<float, 2> query({1, 4}, 1), key({2, 4}), value({2, 1}, 1), result({1, 1}), w({1, 2});
    key.elements = {1, 1, 1, 1, 0, 0, 0, 0};
    attend(scaled_dot | softmax | weighted_sum, query, key, value, result, weights(w));
    // the scores are 4 / 2 and 0
    //! [example]
    CHECK(w(0, 0) == Approx(1 / (1 + std::exp(-2))));
}
