// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "support/differences.hpp"
#include "support/fused.hpp"

#include <cmath>
#include <numeric>

using namespace fovea;

namespace {
template <int Rank>
tensor<double, Rank> drawn(testing::dice& random, std::array<index_t, Rank> const& extents) {
    return testing::random_tensor<double>(random, extents);
}
}  // namespace

TEST_CASE("a normalized row has mean 0 and variance 1, with the gain and the bias after that", "[project]") {
    testing::dice random(3);
    auto const x = drawn<3>(random, {2, 5, 7});
    auto const gain = drawn<1>(random, {7}), bias = drawn<1>(random, {7});
    extents_t<4> const extents{2, 1, 5, 7};
    auto const plain = reference::project<double>(as_is | layer_normalized(0.), as_heads(x.view()), extents),
               full = reference::project<double>(as_is | layer_normalized(gain, bias, 0.), as_heads(x.view()), extents);
    for (index_t b = 0; b < 2; ++b)
        for (index_t n = 0; n < 5; ++n) {
            double const* const row = plain.view().place(b, index_t{0}, n, index_t{0});
            CHECK(std::accumulate(row, row + 7, 0.) == Approx(0).margin(1e-12));
            CHECK(std::inner_product(row, row + 7, row, 0.) / 7 == Approx(1));
            for (index_t c = 0; c < 7; ++c)
                CHECK(full(b, index_t{0}, n, c) == Approx(row[c] * gain(c) + bias(c)).margin(1e-12));
        }
}

TEST_CASE("a row of equal features becomes the bias", "[project]") {
    tensor<double, 3> const x({1, 1, 4}, 3.);
    tensor<double, 1> const gain({4}, 2.), bias({4}, -0.5);
    auto const y = reference::project<double>(as_is | layer_normalized(gain, bias), as_heads(x.view()), {1, 1, 1, 4});
    CHECK(y.elements == std::vector<double>{-0.5, -0.5, -0.5, -0.5});
}

TEST_CASE("before a matrix whole rows are normalized, after it each head", "[project]") {
    testing::dice random(4);
    auto const x = drawn<3>(random, {1, 6, 8});
    auto const w = drawn<2>(random, {8, 8});
    auto const gain = drawn<1>(random, {8}), bias = drawn<1>(random, {8});
    auto const attention = scaled_dot | softmax | weighted_sum;

    //! [example]
    auto const block = project(layer_normalized(gain, bias) | w, layer_normalized(gain, bias) | w,
                               layer_normalized(gain, bias) | w, heads<2>)
                     | scaled_dot | softmax | weighted_sum | residual;
    tensor<double, 3> y({1, 6, 8});
    attend(block, x, y);  // x + attention(normalized x)
    //! [example]

    auto const rows =
        reference::project<double>(as_is | layer_normalized(gain, bias), as_heads(x.view()), {1, 1, 6, 8});
    view<double const, 3> const normalized(rows.elements.data(), {1, 6, 8});
    tensor<double, 3> expected({1, 6, 8});
    reference::attend(project(w, w, w, heads<2>) | attention, normalized, expected);
    for (std::size_t i = 0; i < y.elements.size(); ++i)
        CHECK(y.elements[i] == Approx(expected.elements[i] + x.elements[i]));

    auto const heads_of = reference::project<double>(w | layer_normalized, as_heads(x.view()), {1, 2, 6, 4});
    for (index_t h = 0; h < 2; ++h) {
        double const* const head = heads_of.view().place(index_t{0}, h, index_t{5}, index_t{0});
        CHECK(std::accumulate(head, head + 4, 0.) == Approx(0).margin(1e-12));
    }
}

TEST_CASE("gradients of what stands before a matrix are those of differences", "[project]") {
    testing::dice random(5);
    auto x = drawn<3>(random, {2, 5, 6});
    auto gain = drawn<1>(random, {6}), bias = drawn<1>(random, {6}), last = drawn<1>(random, {8});
    auto wq = drawn<2>(random, {6, 8}), down = drawn<2>(random, {6, 3}), up = drawn<2>(random, {3, 8}),
         wo = drawn<2>(random, {8, 6});
    auto const d = drawn<3>(random, {2, 5, 6});
    auto const block = project(layer_normalized(gain, bias) | wq | rotary, down | rms_normalized | up,
                               layer_normalized(gain, bias) | wq, heads<2>)
                     | scaled_dot | causal | softmax | weighted_sum | output(layer_normalized(last) | wo) | residual;
    tensor<double, 3> dx({2, 5, 6});
    tensor<double, 1> d_gain({6}), d_bias({6}), d_last({8});
    tensor<double, 2> d_wq({6, 8}), d_down({6, 3}), d_up({3, 8}), d_wo({8, 6});
    gradient(block, x, d, grad(x, dx), grad(gain, d_gain), grad(bias, d_bias), grad(last, d_last), grad(wq, d_wq),
             grad(down, d_down), grad(up, d_up), grad(wo, d_wo));
    auto const loss = [&] {
        tensor<double, 3> y({2, 5, 6});
        reference::attend(block, x, y);
        return std::inner_product(y.begin(), y.end(), d.begin(), 0.);
    };
    check_differences(x, dx, loss);
    check_differences(gain, d_gain, loss);
    check_differences(bias, d_bias, loss);
    check_differences(last, d_last, loss);
    check_differences(wq, d_wq, loss);
    check_differences(down, d_down, loss);
    check_differences(up, d_up, loss);
    check_differences(wo, d_wo, loss);
}

TEST_CASE("layer_normalized, fused", "[project]") {
    testing::dice random(6);
    auto const w = testing::random_tensor<float>(random, std::array<index_t, 2>{11, 38}, 0.5);
    auto const gain = testing::random_tensor<float>(random, std::array<index_t, 1>{11});
    auto const by_head = testing::random_tensor<float>(random, std::array<index_t, 2>{2, 19});
    testing::call_sizes const sizes{
        .batches = 2, .heads = 2, .key_heads = 2, .queries = 33, .keys = 40, .features = 19, .value_features = 3};
    check_fused_at_all_widths<float>(
        project(layer_normalized(gain, gain) | w, as_is | layer_normalized(by_head, by_head), as_is, heads<2>)
            | scaled_dot | softmax | weighted_sum,
        sizes);
}

TEST_CASE("a gain or a bias that does not fit is named", "[project]") {
    tensor<float, 3> const x({2, 5, 6});
    tensor<float, 3> y({2, 5, 6}, 7);
    tensor<float, 1> const six({6}), four({4});
    tensor<float, 2> const w({6, 6});
    auto const with = [&](auto const& map) {
        return project(map | w, as_is, as_is, heads<2>) | scaled_dot | softmax | weighted_sum;
    };
    CHECK_THROWS_WITH(attend(with(layer_normalized(four)), x, y),
                      "layer_normalized on query: the gain is (1, 4), (head, feature) is (1, 6)");
    CHECK_THROWS_WITH(attend(with(layer_normalized(six, four)), x, y),
                      "layer_normalized on query: the bias is (1, 4), (head, feature) is (1, 6)");
    for (float element : y) CHECK(element == 7);
    CHECK_THROWS_WITH(layer_normalized(-1), "layer_normalized: eps is -1, it must be 0 or more");
    CHECK_THROWS_AS(layer_normalized(six, -1), std::invalid_argument);
    CHECK_THROWS_AS(layer_normalized(six, six, -1), std::invalid_argument);
}
