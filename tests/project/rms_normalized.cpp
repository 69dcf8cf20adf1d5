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

std::array<double, 6> const row{3, 0, -4, 1, 2, 2};
}  // namespace

TEST_CASE("rms_normalized divides each head by its root mean square", "[project]") {
    auto const y = mapped(rms_normalized(0.5), row);
    for (std::size_t i = 0; i < 6; ++i) CHECK(y.elements[i] == Approx(row[i] / std::sqrt((i < 3 ? 25 : 9) / 3. + 0.5)));
    for (double zero : mapped(rms_normalized, {}).elements) CHECK(zero == 0);
}

TEST_CASE("the gain of rms_normalized is the same for all heads, or one per head", "[project]") {
    tensor<float, 1> gain({3});
    tensor<float, 2> by_head({2, 3});
    for (index_t c = 0; c < 3; ++c) {
        gain(c) = static_cast<float>(c) - 0.5f;
        for (index_t h = 0; h < 2; ++h) by_head(h, c) = static_cast<float>(c + 3 * h);
    }
    auto const plain = mapped(rms_normalized, row), same = mapped(rms_normalized(gain), row);
    auto const own = mapped(rms_normalized(by_head), row);
    for (std::size_t i = 0; i < 6; ++i) {
        CHECK(same.elements[i] == Approx(plain.elements[i] * (static_cast<double>(i % 3) - 0.5)));
        CHECK(own.elements[i] == Approx(plain.elements[i] * static_cast<double>(i)));
    }
}

TEST_CASE("queries and keys are normalized before they are turned", "[project]") {
    testing::dice random(4);
    auto const wq = testing::random_tensor<float>(random, std::array<index_t, 2>{6, 8});
    auto const wk = testing::random_tensor<float>(random, std::array<index_t, 2>{6, 8});
    auto const gain = testing::random_tensor<float>(random, std::array<index_t, 1>{4});
    auto const x = testing::random_tensor<float>(random, std::array<index_t, 3>{2, 7, 6});
    tensor<float, 3> y({2, 7, 6}), larger({2, 7, 6});

    //! [example]
    auto const heads_of =
        project(wq | rms_normalized(gain) | rotary, wk | rms_normalized(gain) | rotary, as_is, heads<2>);
    attend(heads_of | scaled_dot | causal | softmax | weighted_sum, x, y);
    //! [example]

    auto louder = wq;
    for (auto& element : louder) element *= 100;
    auto const same =
        project(louder | rms_normalized(gain) | rotary, wk | rms_normalized(gain) | rotary, as_is, heads<2>);
    attend(same | scaled_dot | causal | softmax | weighted_sum, x, larger);
    for (std::size_t i = 0; i < y.elements.size(); ++i) CHECK(y.elements[i] == Approx(larger.elements[i]).margin(1e-4));
}

TEST_CASE("rms_normalized, fused", "[project]") {
    testing::dice random(6);
    auto const w = testing::random_tensor<float>(random, std::array<index_t, 2>{11, 38}, 0.5);
    auto const gain = testing::random_tensor<float>(random, std::array<index_t, 2>{2, 19});
    testing::call_sizes const sizes{
        .batches = 2, .heads = 2, .key_heads = 2, .queries = 33, .keys = 40, .features = 19, .value_features = 3};
    check_fused_at_all_widths<float>(project(w | rms_normalized(gain), as_is | rms_normalized, as_is, heads<2>)
                                         | scaled_dot | softmax | weighted_sum,
                                     sizes);
}

TEST_CASE("a gain that does not fit the heads is named", "[project]") {
    tensor<float, 3> const x({2, 5, 6});
    tensor<float, 3> y({2, 5, 6}, 7);
    tensor<float, 1> const gain({4});
    auto const spec =
        project(as_is | rms_normalized(gain), as_is, as_is, heads<2>) | scaled_dot | softmax | weighted_sum;
    CHECK_THROWS_WITH(attend(spec, x, y), "rms_normalized on query: the gain is (1, 4), (head, feature) is (2, 3)");
    for (float element : y) CHECK(element == 7);
}

TEST_CASE("rms_normalized has no negative eps", "[project]") {
    std::vector<float> const gain(3, 1.f);
    CHECK_THROWS_WITH(rms_normalized(-1), "rms_normalized: eps is -1, it must be 0 or more");
    CHECK_THROWS_AS(rms_normalized(gain, -1), std::invalid_argument);
    CHECK_NOTHROW(rms_normalized(0));
}
