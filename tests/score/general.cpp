// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/unnormalized.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/general.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("general compares through a matrix", "[score]") {
    //! [example]
    testing::dice random(2);
    auto const query = testing::random_tensor<float, 2>(random, {3, 4});
    auto const key = testing::random_tensor<float, 2>(random, {5, 6});
    auto const matrix = testing::random_tensor<float, 2>(random, {4, 6});
    tensor<float, 2> result({3, 6}), scores({3, 5});
    attend(general(matrix) | unnormalized | weighted_sum, query, key, key, result, weights(scores));
    // scores(i, j) is the sum of query(i, a) * matrix(a, b) * key(j, b)
    //! [example]
    for (index_t i = 0; i < 3; ++i)
        for (index_t j = 0; j < 5; ++j) {
            double expected = 0;
            for (index_t a = 0; a < 4; ++a)
                for (index_t b = 0; b < 6; ++b)
                    expected += static_cast<double>(query(i, a)) * static_cast<double>(matrix(a, b))
                              * static_cast<double>(key(j, b));
            CHECK(scores(i, j) == Approx(expected).margin(1e-5));
        }
}

TEST_CASE("a matrix that does not fit is refused", "[score]") {
    tensor<float, 2> const query({3, 4}), key({5, 6}), matrix({4, 5});
    tensor<float, 2> result({3, 6});
    CHECK_THROWS_AS(attend(general(matrix) | unnormalized | weighted_sum, query, key, key, result), shape_error);
}
