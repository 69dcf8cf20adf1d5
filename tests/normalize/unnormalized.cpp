// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/unnormalized.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"

using namespace fovea;

TEST_CASE("unnormalized keeps the laws of a normalizer", "[normalize]") {
    testing::check_normalizer_laws(unnormalized);
}

TEST_CASE("the scores are the weights: two matrix products", "[normalize]") {
    testing::dice random(6);
    auto const q = testing::random_tensor<double>(random, std::array<index_t, 2>{4, 3});
    auto const k = testing::random_tensor<double>(random, std::array<index_t, 2>{5, 3});
    auto const v = testing::random_tensor<double>(random, std::array<index_t, 2>{5, 2});
    tensor<double, 2> out({4, 2}), w({4, 5});
    reference::attend(dot | unnormalized | weighted_sum, q, k, v, out, weights(w));
    for (index_t i = 0; i < 4; ++i)
        for (index_t c = 0; c < 2; ++c) {
            double sum = 0;
            for (index_t j = 0; j < 5; ++j) {
                double const s = q(i, 0) * k(j, 0) + q(i, 1) * k(j, 1) + q(i, 2) * k(j, 2);
                CHECK(w(i, j) == Approx(s));
                sum += s * v(j, c);
            }
            CHECK(out(i, c) == Approx(sum));
        }
}

TEST_CASE("scores are weights", "[normalize]") {
    //! [example]
    tensor<float, 2> query({1, 1}, 2), key({2, 1}), value({2, 1}, 1), result({1, 1});
    key.elements = {3, -1};
    attend(dot | unnormalized | weighted_sum, query, key, value, result);
    // 2 * 3 * 1 + 2 * -1 * 1
    //! [example]
    CHECK(result(0, 0) == 4);
}
