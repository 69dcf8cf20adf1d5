// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Masks and biases that are tables of all pairs, against the definition.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "support/fused.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

testing::call_sizes const sizes{
    .batches = 2, .heads = 4, .key_heads = 2, .queries = 37, .keys = 70, .features = 9, .value_features = 18};

}  // namespace

TEST_CASE("a bias of rank 4 with minus infinities, fused", "[driver]") {
    testing::dice random(7);
    auto bias = testing::random_tensor<float>(random, std::array<index_t, 4>{2, 4, 37, 70});
    for (auto& x : bias)
        if (random.chance(0.2)) x = excluded<float>;
    for (index_t j = 0; j < 70; ++j) bias(1, 2, 5, j) = excluded<float>;
    check_fused_at_all_widths<float>(
        scaled_dot | rescore(score + param(bias)(batch, head, q_idx, kv_idx)) | softmax | weighted_sum, sizes);
}

TEST_CASE("a bias and a mask that are the same for all batches and heads, fused", "[driver]") {
    testing::dice random(9);
    auto const bias = testing::random_tensor<float>(random, std::array<index_t, 2>{37, 70});
    tensor<unsigned char, 2> seen({37, 70});
    for (auto& x : seen) x = random.chance(0.7);
    view<float const, 4> const everywhere(bias.data(), {2, 4, 37, 70}, {0, 0, 70, 1});
    check_fused<float>(scaled_dot | rescore(score + param(everywhere)(batch, head, q_idx, kv_idx))
                           | where(param(seen)(q_idx, kv_idx) == 1) | softmax | weighted_sum,
                       sizes);
}

TEST_CASE("a table of truths, fused", "[driver]") {
    testing::dice random(9);
    bool truths[37 * 70];
    for (auto& x : truths) x = random.chance(0.6);
    view<bool const, 2> const seen(truths, {37, 70});
    check_fused<float>(scaled_dot | where(param(seen)(q_idx, kv_idx)) | softmax | weighted_sum, sizes);
}

TEST_CASE("a bias for each distance, fused", "[driver]") {
    testing::dice random(9);
    auto const bias = testing::random_tensor<float>(random, std::array<index_t, 1>{120});
    check_fused<float>(scaled_dot | rescore(score + param(bias)[q_idx - kv_idx + 80]) | softmax | weighted_sum, sizes);
}

TEST_CASE("a bias for each distance and head, from the last query back, fused", "[driver]") {
    testing::dice random(9);
    auto const bias = testing::random_tensor<float>(random, std::array<index_t, 2>{4, 37 + 70 - 1});
    check_fused_at_all_widths<float>(
        scaled_dot | rescore(score + param(bias)(head, kv_idx - q_idx + 36)) | softmax | weighted_sum, sizes);
    bool near[37 + 70 - 1];
    for (auto& x : near) x = random.chance(0.6);
    view<bool const, 1> const seen(near, {37 + 70 - 1});
    check_fused<float>(scaled_dot | where(param(seen)[kv_idx - q_idx + 36]) | softmax | weighted_sum, sizes);
}

TEST_CASE("a bias for each distance up to a reach, and its gradient, fused", "[driver]") {
    testing::dice random(11);
    for (index_t const reach : {0, 3, 24, 100}) {
        CAPTURE(reach);
        auto const bias = testing::random_tensor<float>(random, std::array<index_t, 2>{4, 2 * reach + 1});
        auto const spec = scaled_dot | relative_bias(bias) | causal | softmax | weighted_sum;
        check_fused<float>(spec, sizes);
        for (index_t const queries : {1, 2, 37}) {
            auto const x = testing::random_tensor<float>(random, std::array<index_t, 4>{2, 4, queries, 9});
            auto const keys = testing::random_tensor<float>(random, std::array<index_t, 4>{2, 4, 70, 9});
            auto const d = testing::random_tensor<float>(random, x.extents);
            auto const free = scaled_dot | relative_bias(bias) | softmax | weighted_sum;
            tensor<float, 2> found(bias.extents);
            tensor<double, 2> defined(bias.extents);
            gradient(free, x, keys, keys, d, grad(bias, found));
            reference::gradient(free, x, keys, keys, d, grad(bias, defined));
            for (std::size_t i = 0; i < found.elements.size(); ++i)
                CHECK(found.elements[i] == Approx(defined.elements[i]).margin(1e-4));
        }
    }
}
