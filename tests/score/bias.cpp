// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/bias.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "score/rescoring.hpp"

#include <cmath>
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

TEST_CASE("what a bias of -inf hides may hold anything, and leaves all bits of a mask", "[score]") {
    testing::dice random(3);
    constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for (auto const& [queries, keys] : {std::pair{index_t{3}, index_t{2000}}, {60, 133}, {200, 700}}) {
        tensor<float, 2> table({queries, keys});
        tensor<bool, 2> seen({queries, keys});
        auto const query = testing::random_tensor<float, 4>(random, {1, 2, queries, 8});
        auto key = testing::random_tensor<float, 4>(random, {1, 2, keys, 8});
        auto const value = testing::random_tensor<float, 4>(random, {1, 2, keys, 8});
        for (index_t k = 0; k < keys; ++k) {
            bool any = false;
            for (index_t i = 0; i < queries; ++i) {
                seen(i, k) = k / 97 % 3 == i / 50 % 3 && random.between(0, 9) > 0;  // whole tiles, and holes in them
                table(i, k) = seen(i, k) ? 0 : -infinity;
                any = any || seen(i, k);
            }
            for (index_t h = 0; h < 2 && !any; ++h) key(0, h, k, k % 8) = k % 2 == 0 ? nan : infinity;
        }
        tensor<float, 4> added(query.extents), masked(query.extents), expected(query.extents);
        auto const attention = dot | bias(table) | softmax | weighted_sum;
        workspace of_bias, of_mask;
        attend(of_bias, attention, query, key, value, added);
        attend(of_mask, dot | where(param(seen)(q_idx, kv_idx)) | softmax | weighted_sum, query, key, value, masked);
        CHECK(added.elements == masked.elements);
        CHECK(of_bias.tiles().full + of_bias.tiles().mixed == of_mask.tiles().full + of_mask.tiles().mixed);
        reference::attend(attention, query, key, value, expected);
        for (std::size_t i = 0; i < added.elements.size(); ++i)
            REQUIRE(added.elements[i] == Approx(expected.elements[i]).margin(1e-5));
    }
}

TEST_CASE("a bias that is NaN shows, and one that is +inf", "[score]") {
    for (float const shown : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        tensor<float, 2> table({40, 200});
        for (float& x : table.elements) x = -std::numeric_limits<float>::infinity();
        for (index_t i = 0; i < 40; ++i) table(i, 3 * i) = 0;
        table(7, 100) = shown;
        tensor<float, 4> const x({1, 1, 40, 4}, 1), keys({1, 1, 200, 4}, 1);
        tensor<float, 4> result(x.extents);
        attend(dot | bias(table) | softmax | weighted_sum, x, keys, keys, result);
        for (index_t i = 0; i < 40; ++i) CHECK(std::isnan(result(0, 0, i, 0)) == (i == 7));
    }
}
