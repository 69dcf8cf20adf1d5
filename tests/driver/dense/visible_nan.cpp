// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set change
// Scores that are no numbers, where a query sees them: what takes no part has weight 0 all the same, and further
// outputs are what the definition says.
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"
#include "support/guarded.hpp"
#include "support/random_graph.hpp"

#include <algorithm>
#include <limits>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Scores of which some are NaN or infinite, in every other row; some rows hold little else.
tensor<float, 2> hostile_scores(testing::dice& random, index_t queries, index_t keys, double least = -4) {
    tensor<float, 2> scores({queries, keys});
    for (index_t i = 0; i < queries; ++i) {
        double const often = i % 8 == 7 ? 0.9 : i % 2 == 1 ? 0.1 : 0;
        for (index_t j = 0; j < keys; ++j) {
            scores(i, j) = static_cast<float>(random.real(least, 4));
            if (!random.chance(often)) continue;
            float const odd[] = {not_a_number, -inf, i % 4 == 1 ? -inf : inf, 3e38f};
            scores(i, j) = odd[random.between(0, 3)];
        }
    }
    return scores;
}

/// One call with all that looks at rows, engine and definition.
template <class Masked, class Normalize, class Visible>
void check_call(Masked const& masked, Normalize const& normalize, index_t queries, index_t keys,
                Visible const& visible) {
    testing::dice random(17);
    tensor<float, 2> const q({queries, 1}, 1), k({keys, 1}, 1);
    auto const v = testing::random_tensor<float, 2>(random, {keys, 3});
    auto const spec = masked | normalize | weighted_sum;
    tensor<float, 2> expected({queries, 3}), all({queries, keys});
    tensor<float, 1> sums({keys}), entropies({queries});
    reference::attend(spec, q, k, v, expected, weights(all), column_sums(sums), entropy(entropies));

    guarded<float> out(queries * 3, 7), pairs(queries * keys, 7), received(keys, 7), spread(queries, 7);
    view<float, 2> const result(out.data(), {queries, 3}), got(pairs.data(), {queries, keys});
    attend(spec, q, k, v, result, weights(got), column_sums(view<float, 1>(received.data(), {keys})),
           entropy(view<float, 1>(spread.data(), {queries})));

    INFO(normalize.text() << ", queries " << queries << ", keys " << keys);
    index_t leaks = 0;
    for (index_t i = 0; i < queries; ++i)
        for (index_t j = 0; j < keys; ++j) leaks += !visible(i, j) && !(got(i, j) == 0 && all(i, j) == 0);
    CHECK(leaks == 0);
    testing::tolerance const allowed{1e-5, 1e-5};
    CHECK_NOTHROW(testing::check_close<float, float>("weights", all.elements, {pairs.begin(), pairs.end()}, allowed));
    CHECK_NOTHROW(testing::check_close<float, float>("result", expected.elements, {out.begin(), out.end()}, allowed));
    CHECK_NOTHROW(
        testing::check_close<float, float>("column sums", sums.elements, {received.begin(), received.end()}, allowed));
    CHECK_NOTHROW(
        testing::check_close<float, float>("entropy", entropies.elements, {spread.begin(), spread.end()}, allowed));
}

/// A word of the library knows its name, not its text.
template <class N>
struct named : N {
    using N::N;
    constexpr named(N const& n) : N(n) {}
    std::string text() const { return std::string(N::name); }
};

template <class Normalize>
void check(Normalize const& normalize, double least_score = -4) {
    testing::dice random(5);
    for (index_t const keys : {1, 7, 16, 32, 33, 64, 150}) {
        auto const scores = hostile_scores(random, 24, keys, least_score);
        auto const masked = compare(param(scores)(q_idx, kv_idx)) | where((q_idx + kv_idx) % 5 != 0);
        check_call(masked, normalize, 24, keys,
                   [&](index_t i, index_t j) { return (i + j) % 5 != 0 && scores(i, j) != -inf; });
    }
}

template <class Normalize>
void check_graph(Normalize const& normalize) {
    testing::dice random(6);
    auto const g = random_graph(24, 60, 300);
    auto const scores = hostile_scores(random, 24, 60);
    auto const masked = compare(param(scores)(q_idx, kv_idx)) | neighbors(g) | where((q_idx + kv_idx) % 5 != 0);
    check_call(masked, normalize, 24, 60, [&](index_t i, index_t j) {
        auto const keys = graph_view(g).of(i);
        return std::find(keys.begin(), keys.end(), static_cast<std::int32_t>(j)) != keys.end() && (i + j) % 5 != 0
            && scores(i, j) != -inf;
    });
}

}  // namespace

TEST_CASE("weights and what else is asked for, of scores that are no numbers", "[driver]") {
    check(named(softmax));
    check(named(l1_weights));
    check(named(sparsemax));
}

TEST_CASE("edges whose scores are no numbers", "[driver]") {
    check_graph(named(softmax));
    check_graph(named(hardmax));
}
