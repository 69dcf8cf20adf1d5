// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Scores of queries and keys that have no features: what the expression says of an empty sum.
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"
#include "support/random_graph.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

template <class Element>
void check_sizes(auto const& spec, auto const& masked) {
    testing::dice random(3);
    for (index_t const queries : {1, 3, 13, 40})
        for (index_t const keys : {1, 16, 150}) {
            tensor<Element, 2> const q({queries, 0}), k({keys, 0});
            auto const v = testing::random_tensor<float, 2>(random, {keys, 3});
            tensor<float, 2> expected({queries, 3}), got({queries, 3}, 7);
            for (bool const hides : {false, true}) {
                auto const run = [&](auto const& all) {
                    reference::attend(all, q, k, v, expected);
                    attend(all, q, k, v, got);
                };
                if (hides) run(masked);
                else run(spec);
                CAPTURE(queries, keys, hides);
                CHECK_NOTHROW(
                    testing::check_close<float, float>("result", expected.elements, got.elements, {1e-5, 1e-5}));
            }
        }
}

template <class Element = float>
void check(auto const& score_word) {
    check_sizes<Element>(score_word | softmax | weighted_sum, score_word | causal_at_end | softmax | weighted_sum);
}

template <class Score>
void check_graph(Score const& score_word) {
    auto const g = random_graph(12, 30, 90);
    tensor<float, 2> const q({12, 0}), k({30, 0});
    testing::dice random(3);
    auto const v = testing::random_tensor<float, 2>(random, {30, 3});
    tensor<float, 2> expected({12, 3}), got({12, 3}, 7);
    auto const spec = score_word | neighbors(g) | softmax | weighted_sum;
    reference::attend(spec, q, k, v, expected);
    attend(spec, q, k, v, got);
    CHECK_NOTHROW(testing::check_close<float, float>("result", expected.elements, got.elements, {1e-5, 1e-5}));
}

}  // namespace

TEST_CASE("products over no features are 0", "[driver]") {
    check(dot);
    check(scaled_by(0.3f));
    check(dot | rescore(score - 0.1f * kv_idx));
    check_graph(dot);
}

TEST_CASE("a factor that no feature makes infinite makes scores of them NaN", "[driver]") {
    check(scaled_dot);
    check(cosine);
    check<bfloat16>(scaled_dot);
    check<float16>(scaled_dot);
    check_graph(scaled_dot);
    check_graph(cosine);
    tensor<float, 2> const x({2, 0}), value({2, 1}, 1);
    tensor<float, 2> result({2, 1});
    attend(scaled_dot | softmax | weighted_sum, x, x, value, result);
    CHECK_FALSE(result(0, 0) == result(0, 0));
    attend(scaled_by(1) | softmax | weighted_sum, x, x, value, result);
    CHECK(result(0, 0) == 1);
}

TEST_CASE("distances over no features are 0", "[driver]") {
    check(gaussian(1));
    check(l1_distance(1));
    check_graph(gaussian(1));
}
