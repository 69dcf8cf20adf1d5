// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/bias.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "score/rescoring.hpp"

#include <limits>
#include <utility>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("every axis of a bias may stand for all positions", "[score]") {
    testing::dice random(1);
    for (int axes = 0; axes < 16; ++axes) {
        extents_t<4> const extents{axes & 1 ? 1 : 2, axes & 2 ? 1 : 3, axes & 4 ? 1 : 19, axes & 8 ? 1 : 37};
        auto table = testing::random_tensor<float, 4>(random, extents);  // of mutable elements, as a step makes it
        auto const query = testing::random_tensor<float, 4>(random, {2, 3, 19, 4}),
                   key = testing::random_tensor<float, 4>(random, {2, 3, 37, 4});
        tensor<float, 4> got({2, 3, 19, 4}), expected(got.extents);
        auto const attention = dot | bias(table) | softmax | weighted_sum;
        attend(attention, query, key, key, got);
        reference::attend(attention, query, key, key, expected);
        for (std::size_t i = 0; i < got.elements.size(); ++i)
            CHECK(got.elements[i] == Approx(expected.elements[i]).margin(1e-6));
        auto const at = [&](int axis, index_t x) { return extents[static_cast<std::size_t>(axis)] == 1 ? 0 : x; };
        CHECK(rescored_to(bias(std::as_const(table)), 2, 1, 2, 5, 6)
              == Approx(2 + table(at(0, 1), at(1, 2), at(2, 5), at(3, 6))));
    }
}

TEST_CASE("a bias of -inf hides a pair", "[score]") {
    //! [example]
    tensor<float, 2> additive_mask({2, 2}, 0);  // (query, key), for all heads
    additive_mask(0, 1) = -std::numeric_limits<float>::infinity();
    tensor<float, 2> const x({2, 1}, 1);
    tensor<float, 2> result({2, 1}), shares({2, 2});
    attend(dot | bias(additive_mask) | softmax | weighted_sum, x, result, weights(shares));
    // the first query sees itself alone
    //! [example]
    CHECK(shares(0, 0) == Approx(1));
    CHECK(shares(0, 1) == 0);
    CHECK(shares(1, 1) == Approx(0.5));
}
