// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/location.hpp>
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"
#include "support/fused.hpp"

using namespace fovea;

TEST_CASE("location looks at the position of a key alone", "[score]") {
    //! [example]
    testing::dice random(1);
    auto const w = testing::random_tensor<float, 2>(random, {64, 5});  // up to 64 keys, five features
    auto const by_position = location(w);
    //! [example]
    CHECK_NOTHROW(testing::check_score_laws(by_position, 5));
    CHECK_NOTHROW(testing::check_score_formula(
        by_position,
        [&](auto query, auto, auto const& at) {
            double s = 0;
            for (std::size_t c = 0; c < 5; ++c) s += query[c] * static_cast<double>(w(at.key, static_cast<index_t>(c)));
            return s;
        },
        5));
}

TEST_CASE("location is the product with keys that are the rows of its matrix", "[score]") {
    testing::dice random(2);
    auto const w = testing::random_tensor<float, 2>(random, {37, 6});
    auto const query = testing::random_tensor<float, 4>(random, {1, 1, 9, 6});
    auto const key = testing::random_tensor<float, 4>(random, {1, 1, 37, 6});
    auto const value = testing::random_tensor<float, 4>(random, {1, 1, 37, 4});
    view<float const, 4> const rows(w.data(), {1, 1, 37, 6});
    tensor<float, 4> by_location({1, 1, 9, 4}), by_product({1, 1, 9, 4});
    attend(location(w) | softmax | weighted_sum, query, key, value, by_location);
    attend(dot | softmax | weighted_sum, query, rows, value, by_product);
    for (index_t i = 0; i < 9; ++i)
        for (index_t c = 0; c < 4; ++c)  // means of values of about 1: they differ by what is rounded off there
            CHECK(by_location(0, 0, i, c) == Approx(by_product(0, 0, i, c)).epsilon(0).margin(1e-6));
}

TEST_CASE("location, fused", "[score]") {
    testing::dice random(3);
    auto const w = testing::random_tensor<float, 2>(random, {45, 16});
    check_fused<float>(location(w) | softmax | weighted_sum, testing::call_sizes{2, 4, 2, 33, 45, 16, 8});
}

TEST_CASE("location with too few rows is an error", "[score]") {
    tensor<float, 2> const w({4, 3});
    tensor<float, 4> const x({1, 1, 5, 3});
    tensor<float, 4> out({1, 1, 5, 3});
    CHECK_THROWS_AS(attend(location(w) | softmax | weighted_sum, x, x, x, out), shape_error);
}
