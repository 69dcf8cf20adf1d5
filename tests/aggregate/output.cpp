// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/concat_heads.hpp>
#include <fovea/aggregate/output.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>

#include "catch.hpp"
#include "heads_case.hpp"

using namespace fovea;

TEST_CASE("output multiplies the heads, side by side, by a matrix", "[aggregate]") {
    heads_case c;
    auto const w = testing::random_tensor<float>(c.random, std::array<index_t, 2>{6, 3});
    auto const b = testing::random_tensor<float>(c.random, std::array<index_t, 1>{3});
    auto const joined = c.finished(by_heads | concat_heads, 6);
    auto const plain = c.finished(by_heads | output(w), 3);
    auto const biased = c.finished(by_heads | output(w, b), 3);
    for (index_t f = 0; f < 3; ++f) {
        double y = 0;
        for (index_t i = 0; i < 6; ++i) y += joined(1, 2, i) * static_cast<double>(w(i, f));
        CHECK(plain(1, 2, f) == Approx(y));
        CHECK(biased(1, 2, f) == Approx(y + static_cast<double>(b(f))));
    }
}

TEST_CASE("a matrix may be stored as training frameworks keep it", "[aggregate]") {
    heads_case c;
    auto const w = testing::random_tensor<double>(c.random, std::array<index_t, 2>{6, 3});
    tensor<double, 2> stored({3, 6});
    for (index_t i = 0; i < 6; ++i)
        for (index_t f = 0; f < 3; ++f) stored(f, i) = w(i, f);
    CHECK(c.finished(by_heads | output(linear(transposed(stored))), 3).elements
          == c.finished(by_heads | output(w), 3).elements);
    CHECK(c.finished(by_heads | output(transposed(stored)), 3).elements
          == c.finished(by_heads | output(w), 3).elements);
    CHECK(describe(output(w)) == "output(linear(6 -> 3))");
}

TEST_CASE("the result passes through a matrix", "[aggregate]") {
    //! [example]
    tensor<float, 2> x({1, 2}), matrix({2, 3}, 1), result({1, 3});
    x.elements = {1, 2};
    attend(dot | softmax | weighted_sum | output(matrix), x, result);
    // each of the three outputs is 1 + 2
    //! [example]
    CHECK(result.elements == std::vector<float>{3, 3, 3});
}
