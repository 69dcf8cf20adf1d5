// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/concat_heads.hpp>
#include <fovea/aggregate/map.hpp>
#include <fovea/aggregate/mean_heads.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>

#include "catch.hpp"
#include "heads_case.hpp"

#include <cmath>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("map changes each feature by itself", "[aggregate]") {
    heads_case const c;
    auto const plain = c.finished(by_heads | concat_heads, 6);
    auto const bent = c.finished(by_heads | concat_heads | map(elu(out)), 6);
    for (std::size_t n = 0; n < plain.elements.size(); ++n) {
        auto const x = plain.elements[n];
        CHECK(bent.elements[n] == Approx(x > 0 ? x : std::expm1(x)));
    }
}

TEST_CASE("maps run in the order in which they are written, before or behind the heads are joined", "[aggregate]") {
    heads_case const c;
    auto const doubled = c.finished(by_heads | concat_heads | map(out + 1) | map(2 * out), 6);
    auto const plain = c.finished(by_heads | concat_heads, 6);
    CHECK(doubled(1, 2, 3) == Approx(2 * (plain(1, 2, 3) + 1)));

    auto const before = c.finished(by_heads | map(square(out)) | mean_heads, 2);
    auto const behind = c.finished(by_heads | mean_heads | map(square(out)), 2);
    double squares = 0, sum = 0;
    for (index_t h = 0; h < 3; ++h) {
        squares += c.by_head(0, h, 1, 1) * c.by_head(0, h, 1, 1);
        sum += c.by_head(0, h, 1, 1);
    }
    CHECK(before(0, 1, 1) == Approx(squares / 3));
    CHECK(behind(0, 1, 1) == Approx(sum * sum / 9));
}

TEST_CASE("a parameter is a vector over the features, heads side by side", "[aggregate]") {
    heads_case const c;
    std::vector<float> const bias{1, 2, 3, 4, 5, 6};
    auto const behind = c.finished(by_heads | concat_heads | map(out + param(bias)), 6);
    auto const before = c.finished(by_heads | map(out + param(bias)) | concat_heads, 6);
    CHECK(behind.elements == before.elements);
    CHECK(behind(1, 3, 5) == Approx(c.by_head(1, 2, 3, 1) + 6));
    CHECK(describe(map(out + param(bias))) == "map(out + param)");
}

TEST_CASE("features pass through an expression", "[aggregate]") {
    //! [example]
    tensor<float, 2> x({2, 1}, -1), result({2, 1});
    attend(dot | softmax | weighted_sum | map(relu(out) + 3), x, result);
    // the mean of the values is -1, relu gives 0
    //! [example]
    CHECK(result.elements == std::vector<float>{3, 3});
}
