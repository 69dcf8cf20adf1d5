// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// explain names the traversal that runs.
#include <fovea/fovea.hpp>

#include "catch.hpp"

#include <string>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

constexpr auto plain = scaled_dot | softmax | weighted_sum;
constexpr index_t lanes = plan::lane_tile<float, arch::best>::lanes;

/// True where explain says that pairs are met so.
template <class Spec>
bool says(std::string const& what, Spec const& spec, index_t heads, index_t key_heads, index_t queries) {
    tensor<float, 4> const query({1, heads, queries, 8}), key({1, key_heads, 40, 8});
    std::string const text = explain(spec, query, key, key);
    CAPTURE(text);
    return text.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("queries stand in lanes where they fill them", "[driver]") {
    CHECK(says("driver/dense_lanes.hpp", plain, 2, 2, lanes));
    CHECK(says("driver/dense_lanes.hpp", scaled_dot | causal | softmax | weighted_sum, 2, 2, 5 * lanes + 1));
    CHECK(says("driver/dense.hpp", plain, 2, 2, 1));
    CHECK(says("driver/dense_lanes.hpp", plain, lanes, 1, 1));  // of as many heads with the same keys
}

TEST_CASE("keys stand in lanes where something is read along them", "[driver]") {
    tensor<float, 2> const bias({3 * lanes, 40}, 0.5f);
    auto const biased = scaled_dot | rescore(score + param(bias)(q_idx, kv_idx)) | softmax | weighted_sum;
    CHECK(says("driver/dense.hpp", biased, 2, 2, 3 * lanes));
    tensor<float, 1> const distances({3 * lanes + 39});
    auto const near =
        scaled_dot | rescore(score + param(distances)[kv_idx - q_idx + 3 * lanes - 1]) | softmax | weighted_sum;
    CHECK(says("driver/dense_lanes.hpp", near, 2, 2, 3 * lanes));
    CHECK(says("driver/dense.hpp", scaled_dot | sparsemax | weighted_sum, 2, 2, 3 * lanes));
    CHECK(says("driver/dense.hpp", compare(sum(tanh(q + k))) | softmax | weighted_sum, 2, 2, 3 * lanes));
}

TEST_CASE("listed keys are a traversal of their own", "[driver]") {
    graph::edge const pairs[] = {{0, 1}, {1, 0}};
    graph const edges(2, pairs);
    tensor<float, 4> const x({1, 2, 2, 8});
    CHECK(explain(scaled_dot | neighbors(edges) | softmax | weighted_sum, x, x, x).find("driver/enumerated.hpp")
          != std::string::npos);
}
