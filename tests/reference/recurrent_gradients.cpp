// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Gradients of running states: limits of differences, those of the same weighted sum, and of decays and rates.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>
#include <fovea/testing/gradient_laws.hpp>

#include "catch.hpp"

#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;
using fovea::testing::check_gradients;

namespace {
constexpr testing::call_sizes sizes{2, 4, 2, 5, 5, 3, 2};

/// Numbers from `low` to `high`.
template <class... Extents>
auto numbers(double low, double high, Extents... extents) {
    testing::dice from(9);
    tensor<double, sizeof...(Extents)> x(extents_t<sizeof...(Extents)>{extents...});
    for (double& e : x.elements) e = from.real(low, high);
    return x;
}
}  // namespace

TEST_CASE("gradients go through running states", "[reference]") {
    auto factors = numbers(0.5, 2, 3), by_head = numbers(0.5, 2, 4);
    check_gradients(scaled_dot | causal | unnormalized | running_state, sizes);
    check_gradients(dot | unnormalized | running_state, {2, 4, 2, 4, 6, 3, 2});
    check_gradients(feature_map(exp(q)) | causal | proportional | running_state, sizes);
    check_gradients(feature_map(exp(q)) | proportional | running_state | concat_heads, {2, 4, 2, 4, 6, 3, 2});
    check_gradients(
        compare(sum(tanh(q) * k * param(factors)) * param(by_head)[head]) | causal | unnormalized | running_state,
        sizes, factors, by_head);
}

TEST_CASE("gradients reach the decay of a gate and the rate of a correction", "[reference]") {
    index_t const one = 1, two = 2, n = 5, features = 3;
    auto by_feature = numbers(-0.5, 0, two, two, n, features), shared = numbers(-0.5, 0, one, two, one, features);
    auto by_step = numbers(-0.5, 0, two, two, n), rates = numbers(0.1, 0.9, two, two, n);
    auto by_head = numbers(-0.5, 0, two), rate_of_head = numbers(0.1, 0.9, two);
    auto const state = scaled_dot | causal | unnormalized | running_state;
    check_gradients(state | gated(by_feature), sizes, by_feature);
    check_gradients(state | gated(shared), sizes, shared);
    check_gradients(feature_map(exp(q)) | causal | proportional | running_state | gated(by_step), sizes, by_step);
    check_gradients(state | delta(rates), sizes, rates);
    check_gradients(state | gated(by_head) | delta(rate_of_head), sizes, by_head, rate_of_head);
    check_gradients(state | gated(by_feature) | delta(0.5), sizes, by_feature);
}

TEST_CASE("a running state has the gradients of its weighted sum", "[reference]") {
    testing::dice from(3);
    auto const x = testing::random_tensor<double>(from, extents_t<2>{9, 6}),
               w = testing::random_tensor<double>(from, extents_t<2>{6, 8}),
               d = testing::random_tensor<double>(from, extents_t<2>{9, 8});
    auto const scores = project(w, w, w, heads<2>) | feature_map(elu(q) + 1) | causal | proportional;
    tensor<double, 2> d_x({9, 6}), d_w({6, 8}), e_x({9, 6}), e_w({6, 8});
    gradient(scores | running_state, x, d, grad(x, d_x), grad(w, d_w));
    reference::gradient(scores | weighted_sum, x, d, grad(x, e_x), grad(w, e_w));
    for (std::size_t i = 0; i < d_x.elements.size(); ++i) CHECK(d_x.elements[i] == Approx(e_x.elements[i]));
    for (std::size_t i = 0; i < d_w.elements.size(); ++i) CHECK(d_w.elements[i] == Approx(e_w.elements[i]));
}

TEST_CASE("the gradient of a ragged batch of running states is the sum of those of its sequences", "[reference]") {
    testing::dice from(5);
    std::vector<int> const offsets{0, 1, 1, 5, 7};
    auto const x = testing::random_tensor<double>(from, extents_t<2>{7, 4}),
               d = testing::random_tensor<double>(from, extents_t<2>{7, 4});
    auto const decay = numbers(-0.5, 0, 1, 1, 7);
    auto const rate = numbers(0.1, 0.9, 1);
    auto const spec = scaled_dot | causal | unnormalized | running_state | gated(decay) | delta(rate);
    tensor<double, 2> d_x({7, 4});
    tensor<double, 3> d_decay({1, 1, 7});
    tensor<double, 1> d_rate({1});
    gradient(ragged(offsets), spec, x, d, grad(x, d_x), grad(decay, d_decay), grad(rate, d_rate));
    double of_rate = 0;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
        index_t const first = offsets[s], n = offsets[s + 1] - first;
        if (n == 0) continue;
        auto const some = view<double const, 2>(&x(first, 0), {n, 4}),
                   d_some = view<double const, 2>(&d(first, 0), {n, 4});
        view<double const, 3> const of_steps(&decay(0, 0, first), {1, 1, n});
        tensor<double, 2> e_x({n, 4});
        tensor<double, 3> e_decay({1, 1, n});
        tensor<double, 1> e_rate({1});
        gradient(scaled_dot | causal | unnormalized | running_state | gated(of_steps) | delta(rate), some, d_some,
                 grad(some, e_x), grad(of_steps, e_decay), grad(rate, e_rate));
        of_rate += e_rate(0);
        for (index_t i = 0; i < n; ++i) {
            CHECK(d_decay(0, 0, first + i) == e_decay(0, 0, i));
            for (index_t c = 0; c < 4; ++c) CHECK(d_x(first + i, c) == e_x(i, c));
        }
    }
    CHECK(d_rate(0) == Approx(of_rate));
}
