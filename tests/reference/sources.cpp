// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The worked examples of the texts that this library began with.
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/hardmax.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/unnormalized.hpp>
#include <fovea/project/project.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/additive.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;

namespace {
template <std::size_t Rank>
auto made(unsigned seed, std::array<index_t, Rank> sizes) {
    testing::dice random(seed);
    return testing::random_tensor<float>(random, sizes);
}
}  // namespace

TEST_CASE("masked self-attention of (1, 3, 5) has lower-triangular weights", "[reference]") {
    auto const x = made(1, std::array<index_t, 3>{1, 3, 5});
    tensor<float, 3> out({1, 3, 5});
    tensor<double, 3> w({1, 3, 3});
    reference::attend(scaled_dot | causal | softmax | weighted_sum, x, out, weights(w));
    CHECK(w(0, 0, 0) == 1);
    CHECK(w(0, 0, 1) == 0);
    CHECK(w(0, 0, 2) == 0);
    CHECK(w(0, 1, 2) == 0);
    for (index_t i = 0; i < 3; ++i) CHECK(w(0, i, 0) + w(0, i, 1) + w(0, i, 2) == Approx(1));
    for (index_t c = 0; c < 5; ++c) CHECK(out(0, 0, c) == x(0, 0, c));  // the first token sees itself only
}

TEST_CASE("cross attention of a target of 10 and a source of 20", "[reference]") {
    auto const value = made(1, std::array<index_t, 3>{100, 20, 10}), key = made(2, std::array<index_t, 3>{100, 20, 5});
    auto const query = made(3, std::array<index_t, 3>{100, 10, 5});
    tensor<float, 3> out({100, 10, 10}), w({100, 10, 20});
    reference::attend(scaled_dot | softmax | weighted_sum, query, key, value, out, weights(w));
    double total = 0;
    for (auto const x : w) total += static_cast<double>(x);
    CHECK(total == Approx(1000));
}

TEST_CASE("self-attention of (2, 3, 5) gives (2, 3, 5) and weights (2, 3, 3)", "[reference]") {
    auto const x = made(4, std::array<index_t, 3>{2, 3, 5});
    tensor<float, 3> out({2, 3, 5}), w({2, 3, 3});
    CHECK_NOTHROW(reference::attend(scaled_dot | softmax | weighted_sum, x, out, weights(w)));
}

TEST_CASE("eight tokens of 256 with projections", "[reference]") {
    auto const x = made(5, std::array<index_t, 2>{8, 256});
    auto const wq = made(6, std::array<index_t, 2>{256, 128}), wk = made(7, std::array<index_t, 2>{256, 128});
    auto const wv = made(8, std::array<index_t, 2>{256, 256});
    tensor<float, 2> out({8, 256}), w({8, 8});
    CHECK_NOTHROW(reference::attend(project(wq, wk, wv) | scaled_dot | softmax | weighted_sum, x, out, weights(w)));
}

TEST_CASE("retrieval by exact and by fuzzy matching", "[reference]") {
    std::vector<double> const query{1}, values{1000, 2000, 3000};
    view<double const, 2> const q(query.data(), {1, 1}), v(values.data(), {3, 1});
    auto const retrieve = [&](std::vector<double> const& scores) {
        view<double const, 2> const k(scores.data(), {3, 1});
        tensor<double, 2> out({1, 1});
        reference::attend(dot | unnormalized | weighted_sum, q, k, v, out);
        return out(0, 0);
    };
    CHECK(retrieve({.9, .1, 0}) == Approx(1100));
    CHECK(retrieve({1, 0, 0}) == 1000);
}

TEST_CASE("hard attention retrieves the value of the best key", "[reference]") {
    std::vector<float> const q{1, 0}, k{0.5f, 9, 3, -4, 2, 7}, v{10, 20, 30};
    tensor<float, 2> out({1, 1});
    reference::attend(scaled_dot | hardmax | weighted_sum, view<float const, 2>(q.data(), {1, 2}),
                      view<float const, 2>(k.data(), {3, 2}), view<float const, 2>(v.data(), {3, 1}), out);
    CHECK(out(0, 0) == 20);
}

TEST_CASE("additive attention of a decoder state over encoder states", "[reference]") {
    auto const state = made(1, std::array<index_t, 2>{1, 6}), encoded = made(2, std::array<index_t, 2>{4, 5});
    auto const wq = made(3, std::array<index_t, 2>{6, 3}), wk = made(4, std::array<index_t, 2>{5, 3});
    auto const v = made(5, std::array<index_t, 1>{3});
    tensor<double, 2> context({1, 5}), w({1, 4});
    reference::attend(project(wq, wk, as_is) | additive(v) | softmax | weighted_sum, queries(state), memory(encoded),
                      context, weights(w));

    double scores[4], total = 0;
    for (index_t j = 0; j < 4; ++j) {
        scores[j] = 0;
        for (index_t c = 0; c < 3; ++c) {
            double hidden = 0;
            for (index_t i = 0; i < 6; ++i) hidden += static_cast<double>(state(0, i)) * static_cast<double>(wq(i, c));
            for (index_t i = 0; i < 5; ++i)
                hidden += static_cast<double>(encoded(j, i)) * static_cast<double>(wk(i, c));
            scores[j] += static_cast<double>(v(c)) * std::tanh(hidden);
        }
        total += std::exp(scores[j]);
    }
    for (index_t j = 0; j < 4; ++j) CHECK(w(0, j) == Approx(std::exp(scores[j]) / total));
    double expected = 0;
    for (index_t j = 0; j < 4; ++j) expected += w(0, j) * static_cast<double>(encoded(j, 2));
    CHECK(context(0, 2) == Approx(expected));
}
