// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of every kind, against the definition and against plain loops: a program without a test framework, which would
// be compiled with the same flags. Nothing here asks whether a number is NaN: some flags say that there is none.
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>

#include "../support/ulps.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

int failures = 0;

void compare(std::string const& name, std::vector<float> const& expected, std::vector<float> const& got) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
        float const allowed = 2e-5f * (1 + std::abs(expected[i]));
        if (is_finite(got[i]) && is_finite(expected[i]) && std::abs(got[i] - expected[i]) <= allowed) continue;
        ++failures;
        std::printf("%s: element %zu is %.9g, the definition has %.9g\n", name.c_str(), i, static_cast<double>(got[i]),
                    static_cast<double>(expected[i]));
        return;
    }
}

/// Many rows and few, over keys that are no multiple of anything.
template <class Spec>
void check(char const* name, Spec const& spec, index_t features = 24, double size = 2) {
    testing::dice random(41);
    for (index_t const queries : {1, 7, 50}) {
        auto const q = testing::random_tensor<float, 4>(random, {1, 4, queries, features}, size);
        auto const k = testing::random_tensor<float, 4>(random, {1, 2, 77, features}, size);
        auto const v = testing::random_tensor<float, 4>(random, {1, 2, 77, 19}, 1);
        tensor<float, 4> expected({1, 4, queries, 19}), got({1, 4, queries, 19}, 99);
        reference::attend(spec, q, k, v, expected);
        attend(spec, q, k, v, got);
        compare(std::string(name) + ", " + std::to_string(queries) + " queries", expected.elements, got.elements);
    }
}

/// Whole rows: weights sum to one, and are exactly 0 where a key is masked.
template <class Normalize>
void check_weights(char const* name, Normalize const& normalize) {
    testing::dice random(43);
    auto const x = testing::random_tensor<float, 2>(random, {40, 8}, 2);
    tensor<float, 2> result({40, 8}), w({40, 40}, 99), expected({40, 8}), weights_expected({40, 40});
    auto const spec = scaled_dot | causal | where(q_idx > 2) | normalize | weighted_sum;
    attend(spec, x, result, weights(w));
    reference::attend(spec, x, expected, weights(weights_expected));
    compare(name, expected.elements, result.elements);
    compare(std::string(name) + ", weights", weights_expected.elements, w.elements);
    for (index_t i = 0; i < 40; ++i)
        for (index_t j = 0; j < 40; ++j)
            if ((i <= 2 || j > i) && std::bit_cast<std::uint32_t>(w(i, j)) << 1 != 0) {
                ++failures;
                std::printf("%s: the weight of a masked pair is %g\n", name, static_cast<double>(w(i, j)));
                return;
            }
}

/// Rotary by its definition, in plain loops.
void check_rotary() {
    constexpr index_t n = 600, d = 32;
    testing::dice random(47);
    auto const x = testing::random_tensor<float, 2>(random, {n, d}, 1);
    tensor<float, 2> turned({n, d}), result({n, d}), expected({n, d});
    for (index_t i = 0; i < n; ++i)
        for (index_t c = 0; c < d / 2; ++c) {
            double const angle =
                static_cast<double>(i) * std::pow(10000.0, -2 * static_cast<double>(c) / static_cast<double>(d));
            double const low = x(i, c), high = x(i, c + d / 2);
            turned(i, c) = static_cast<float>(low * std::cos(angle) - high * std::sin(angle));
            turned(i, c + d / 2) = static_cast<float>(high * std::cos(angle) + low * std::sin(angle));
        }
    constexpr auto turns = project(as_is | rotary, as_is | rotary, as_is, heads<1>);
    attend(turns | scaled_dot | causal | softmax | weighted_sum, x, result);
    reference::attend(scaled_dot | causal | softmax | weighted_sum, turned, turned, x, expected);
    compare("rotary", expected.elements, result.elements);
}

void check_storage() {
    testing::dice random(53);
    tensor<bfloat16, 2> q({20, 31}), k({50, 31}), v({50, 31});
    for (auto* t : {&q, &k, &v})
        for (auto& x : *t) x = bfloat16(static_cast<float>(random.real(-1, 1)));
    tensor<float, 2> expected({20, 31}), got({20, 31}, 99);
    constexpr auto spec = scaled_dot | softmax | weighted_sum;
    reference::attend(spec, q, k, v, expected);
    attend(spec, q, k, v, got);
    compare("bfloat16", expected.elements, got.elements);
}

void check_graph() {
    testing::dice random(59);
    std::vector<graph::edge> edges;
    for (int e = 0; e < 200; ++e) edges.push_back({random.between(0, 29), random.between(0, 29)});
    graph const g(30, edges);
    auto const x = testing::random_tensor<float, 2>(random, {30, 16}, 2);
    tensor<float, 2> expected({30, 16}), got({30, 16}, 99);
    auto const spec = scaled_dot | neighbors(g) | softmax | weighted_sum;
    reference::attend(spec, x, expected);
    attend(spec, x, got);
    compare("graph", expected.elements, got.elements);
}

}  // namespace

int main() {
    // Scores and masks, in the functions of the language.
    check("scaled dot, causal", scaled_dot | causal_at_end | softmax | weighted_sum);
    check("window, capped",
          scaled_dot | rescore(20 * tanh(score / 20)) | sliding_window(9, 3) | softmax | weighted_sum);
    check("functions", scaled_dot
                           | rescore(gelu(score) + log(1 + exp(-abs(score))) + sqrt(square(score) + 1) + erf(score) / 2)
                           | softmax | weighted_sum);
    check("cosine", cosine | softmax | weighted_sum);
    check("pairwise", compare(sum(tanh(q + k)) / 4) | softmax | weighted_sum, 12);
    check("sigmoid", scaled_dot | causal_at_end | weigh(sigmoid(score - 2)) | weighted_sum);
    check("max_pool", scaled_dot | softmax | max_pool);
    check_weights("softmax", softmax);
    check_weights("sparsemax", sparsemax);
    check_weights("entmax", entmax(1.3));
    check_rotary();
    check_storage();
    check_graph();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
