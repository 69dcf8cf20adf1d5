// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
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

TEST_CASE("products are scores", "[score]") {
    //! [example]
    tensor<float, 2> query({1, 2}, 1), key({2, 2}), value({2, 1}), result({1, 1});
    key.elements = {0, 0, 9, 9};
    value.elements = {10, 20};
    attend(dot | softmax | weighted_sum, query, key, value, result);
    // the scores are 0 and 18
    //! [example]
    CHECK(result(0, 0) == Approx(20));
}
