// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/linear.hpp>
#include <fovea/project/project.hpp>
#include <fovea/reference/project.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;

namespace {

struct rows {
    testing::dice random{3};
    tensor<double, 4> x = testing::random_tensor<double>(random, std::array<index_t, 4>{2, 1, 3, 4});
    tensor<float, 2> w = testing::random_tensor<float>(random, std::array<index_t, 2>{4, 6});
    tensor<float, 1> b = testing::random_tensor<float>(random, std::array<index_t, 1>{6});

    double product(index_t batch, index_t i, index_t c) const {
        double y = 0;
        for (index_t n = 0; n < 4; ++n) y += x(batch, 0, i, n) * static_cast<double>(w(n, c));
        return y;
    }
};

}  // namespace

TEST_CASE("linear multiplies a row by a matrix and adds a bias", "[project]") {
    rows const r;
    auto const plain = reference::project<double>(linear(r.w), r.x.view(), {2, 1, 3, 6});
    auto const biased = reference::project<double>(linear(r.w, r.b), r.x.view(), {2, 1, 3, 6});
    for (index_t c = 0; c < 6; ++c) {
        CHECK(plain(1, 0, 2, c) == Approx(r.product(1, 2, c)));
        CHECK(biased(1, 0, 2, c) == Approx(r.product(1, 2, c) + static_cast<double>(r.b(c))));
    }
    CHECK(linear(r.w).text() == "linear(4 -> 6)");
    CHECK(linear(r.w, r.b).text() == "linear(4 -> 6, bias)");
}

TEST_CASE("head h takes the features h * d and on", "[project]") {
    rows const r;
    auto const heads = reference::project<double>(linear(r.w), r.x.view(), {2, 3, 3, 2});
    for (index_t h = 0; h < 3; ++h)
        for (index_t c = 0; c < 2; ++c) CHECK(heads(1, h, 2, c) == Approx(r.product(1, 2, 2 * h + c)));
}

TEST_CASE("a matrix may be stored as (out, in)", "[project]") {
    rows const r;
    tensor<float, 2> stored({6, 4});
    for (index_t i = 0; i < 4; ++i)
        for (index_t c = 0; c < 6; ++c) stored(c, i) = r.w(i, c);
    auto const map = linear(transposed(stored), r.b.view());
    CHECK(map.inputs() == 4);
    CHECK(map.outputs() == 6);
    CHECK(reference::project<double>(map, r.x.view(), {2, 1, 3, 6}).elements
          == reference::project<double>(linear(r.w, r.b), r.x.view(), {2, 1, 3, 6}).elements);
}

TEST_CASE("a default-constructed view of a bias stands for none, an empty vector does not", "[project]") {
    rows const r;
    CHECK(linear(r.w, view<float const, 1>{}).text() == "linear(4 -> 6)");
    CHECK(linear(transposed(r.w), view<float const, 1>{}).text() == "linear(6 -> 4)");
    std::vector<float> const empty;
    CHECK(linear(r.w, empty).text() == "linear(4 -> 6, bias)");
}

TEST_CASE("rows pass through a matrix and a bias", "[project]") {
    //! [example]
    tensor<float, 2> x({1, 2}, 1), matrix({2, 3}, 1), result({1, 3});
    tensor<float, 1> bias({3}, 0.5f);
    attend(project(as_is, as_is, linear(matrix, bias)) | dot | softmax | weighted_sum, x, result);
    // each value is 1 + 1 + 0.5
    //! [example]
    CHECK(result.elements == std::vector<float>{2.5f, 2.5f, 2.5f});
}
