// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

#include <cmath>

using namespace fovea;

namespace {
/// Two heads of three features at one position, after a map.
template <class Map>
tensor<double, 4> mapped(Map const& map, std::array<double, 6> const& row) {
    tensor<double, 3> x({1, 1, 6});
    std::copy(row.begin(), row.end(), x.begin());
    return reference::project<double>(as_is | map, as_heads(x.view()), {1, 2, 1, 3});
}
}  // namespace

TEST_CASE("l2_normalized divides each head by its length", "[project]") {
    auto const y = mapped(l2_normalized, {3, 0, -4, 1, 2, 2});
    std::array<double, 6> const expected{0.6, 0, -0.8, 1. / 3, 2. / 3, 2. / 3};
    for (std::size_t i = 0; i < 6; ++i) CHECK(y.elements[i] == Approx(expected[i]));
}

TEST_CASE("l2_normalized leaves a row of zeros, and divides short rows by eps", "[project]") {
    auto const y = mapped(l2_normalized(0.5), {0, 0, 0, 0.25, 0, 0});
    CHECK(y.elements == std::vector<double>{0, 0, 0, 0.5, 0, 0});
    for (double zero : mapped(l2_normalized, {}).elements) CHECK(zero == 0);
}

TEST_CASE("dot of l2_normalized rows is cosine", "[project]") {
    testing::dice random(4);
    auto const x = testing::random_tensor<float>(random, std::array<index_t, 3>{2, 7, 6});
    tensor<float, 3> y({2, 7, 6}), expected({2, 7, 6});

    //! [example]
    auto const normalized = project(as_is | l2_normalized, as_is | l2_normalized, as_is, heads<2>);
    attend(normalized | dot | rescore(10 * placeholders::score) | softmax | weighted_sum, x, y);
    //! [example]

    attend(project(as_is, as_is, as_is, heads<2>) | cosine | rescore(10 * placeholders::score) | softmax | weighted_sum,
           x, expected);
    for (std::size_t i = 0; i < y.elements.size(); ++i)
        CHECK(y.elements[i] == Approx(expected.elements[i]).margin(1e-5));
}

TEST_CASE("l2_normalized, fused", "[project]") {
    testing::dice random(6);
    auto const w = testing::random_tensor<float>(random, std::array<index_t, 2>{11, 38}, 0.5);
    testing::call_sizes const sizes{
        .batches = 2, .heads = 2, .key_heads = 2, .queries = 33, .keys = 40, .features = 19, .value_features = 3};
    check_fused_at_all_widths<float>(
        project(w | l2_normalized, as_is | l2_normalized, as_is, heads<2>) | dot | softmax | weighted_sum, sizes);
}

TEST_CASE("l2_normalized has no negative eps", "[project]") {
    CHECK_THROWS_WITH(l2_normalized(-1), "l2_normalized: eps is -1, it must be 0 or more");
    CHECK_NOTHROW(l2_normalized(0));
}
