// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/mask_tensor.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <cstdint>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

tensor<std::uint8_t, 4> random_mask(extents_t<4> const& extents) {
    testing::dice random(3);
    tensor<std::uint8_t, 4> mask(extents);
    for (auto& m : mask) m = random.chance(0.6);
    return mask;
}

}  // namespace

TEST_CASE("every axis may stand for all positions", "[mask]") {
    testing::lengths const n{6, 9, 2, 3};
    for (int axes = 0; axes < 16; ++axes) {
        extents_t<4> const extents{axes & 1 ? 1 : n.batches, axes & 2 ? 1 : n.heads, axes & 4 ? 1 : n.queries,
                                   axes & 8 ? 1 : n.keys};
        auto visible = random_mask(extents);
        auto const mask = mask_tensor(visible);
        testing::check_mask_laws(mask, n);
        testing::detail::for_each_pair(testing::detail::whole(n), [&](index_t b, index_t h, index_t i, index_t j) {
            auto const at = [&](int axis, index_t x) { return extents[static_cast<std::size_t>(axis)] == 1 ? 0 : x; };
            CHECK(evaluate(mask.predicate(), testing::detail::pair_at(b, h, i, j, n))
                  == (visible(at(0, b), at(1, h), at(2, i), at(3, j)) != 0));
        });
        tensor<float, 4> const query({n.batches, n.heads, n.queries, 4}, 1), key({n.batches, n.heads, n.keys, 4}, 1);
        tensor<float, 4> got({n.batches, n.heads, n.queries, 4}), expected(got.extents);
        auto const attention = dot | mask | softmax | weighted_sum;
        attend(attention, query, key, key, got);
        reference::attend(attention, query, key, key, expected);
        for (std::size_t i = 0; i < got.elements.size(); ++i) CHECK(got.elements[i] == Approx(expected.elements[i]));
    }
}

TEST_CASE("a tensor may have fewer axes", "[mask]") {
    //! [example]
    tensor<std::uint8_t, 2> visible({3, 3}, 1);  // (query, key), for all heads
    visible(0, 2) = 0;
    tensor<float, 2> const x({3, 1}, 1);
    tensor<float, 2> result({3, 1}), shares({3, 3});
    attend(dot | mask_tensor(visible) | softmax | weighted_sum, x, result, weights(shares));
    // the first query shares its weight between two keys
    //! [example]
    CHECK(shares(0, 0) == Approx(0.5));
    CHECK(shares(0, 2) == 0);
    CHECK(shares(1, 2) == Approx(1.0 / 3));
}

TEST_CASE("a tensor that is too small is refused", "[mask]") {
    tensor<std::uint8_t, 2> const visible({3, 2}, 1);
    tensor<float, 2> const x({3, 1}, 1);
    tensor<float, 2> result({3, 1});
    CHECK_THROWS_AS(attend(dot | mask_tensor(visible) | softmax | weighted_sum, x, result), shape_error);
}
