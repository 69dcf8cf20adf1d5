// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What depends on one index alone is computed once for a query of a tile, or a key of a block: in all tiles it comes to
// what the reference says.
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"

#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct sizes {
    index_t heads, key_heads, queries, keys;
};

/// The greatest distance from the reference.
template <class T, class Spec>
double distance(Spec const& spec, sizes const& of) {
    testing::dice random(3);
    auto const draw = [&](index_t heads, index_t positions) {
        return testing::random_tensor<T>(random, std::array<index_t, 4>{2, heads, positions, 13});
    };
    auto const query = draw(of.heads, of.queries), key = draw(of.key_heads, of.keys),
               value = draw(of.key_heads, of.keys);
    tensor<float, 4> result(query.extents);
    tensor<double, 4> expected(query.extents);
    attend(spec, query, key, value, result);
    reference::attend(spec, query, key, value, expected);
    double worst = 0;
    for (index_t i = 0; i < result.size(); ++i)
        worst = std::max(worst, std::abs(static_cast<double>(result.data()[i]) - expected.data()[i]));
    return worst;
}

/// Queries in lanes of one head and of several, keys in lanes, few queries, keys in more than one block.
template <class Spec>
void check(Spec const& spec, index_t queries, index_t keys) {
    for (sizes const& of : {sizes{3, 3, queries, keys}, sizes{4, 2, 5, keys}, sizes{2, 1, 1, keys}}) {
        CAPTURE(of.heads, of.queries, of.keys);
        CHECK(distance<float>(spec, of) < 2e-6);
        CHECK(distance<bfloat16>(spec, of) < 2e-6);
    }
}

}  // namespace

TEST_CASE("index terms of masks are what the reference says", "[driver]") {
    check(scaled_dot | neighborhood({3, 3}, {7, 9}) | softmax | weighted_sum, 63, 63);
    check(scaled_dot | where(kv_idx / 4 <= q_idx / 4 && (head + kv_idx) % 3 != 0) | softmax | weighted_sum, 67, 290);
    check(scaled_dot | where(q_idx % 5 == kv_idx % 5 || floor_div(q_idx - kv_len, 7) > -3) | softmax | weighted_sum, 67,
          290);
}

TEST_CASE("index terms of scores are what the reference says", "[driver]") {
    check(scaled_dot
              | rescore(score - 0.1f * abs(floor_div(q_idx, 5) - floor_div(kv_idx, 3))
                        + select(kv_idx % 7 == 0, 0.5f, 0.0f))
              | softmax | weighted_sum,
          63, 300);
    tensor<float, 1> const table({8}, 0.25f);
    check(scaled_dot | rescore(score + param(table)[kv_idx % 8] - param(table)[q_idx / 9 % 8]) | softmax | weighted_sum,
          63, 300);
}

TEST_CASE("index terms of whole rows and of inseparable scores are what the reference says", "[driver]") {
    check(scaled_dot | neighborhood({3, 3}, {7, 9}) | sparsemax | weighted_sum, 63, 63);
    check(compare(sum(tanh(q + k))) | where(kv_idx / 4 <= q_idx / 4) | softmax | weighted_sum, 37, 70);
}
