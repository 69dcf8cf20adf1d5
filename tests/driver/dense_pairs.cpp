// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores that are summed for each pair, against the definition.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

testing::call_sizes const sizes{
    .batches = 2, .heads = 4, .key_heads = 2, .queries = 37, .keys = 70, .features = 9, .value_features = 18};

}  // namespace

TEST_CASE("additive attention, fused", "[driver]") {
    testing::dice random(7);
    auto const v = testing::random_tensor<float>(random, std::array<index_t, 1>{9});
    check_fused_at_all_widths<float>(additive(v) | softmax | weighted_sum, sizes);
    check_fused<double>(additive(v) | softmax | weighted_sum, sizes);
}

TEST_CASE("additive attention where exponentials leave their range, fused", "[driver]") {
    testing::dice random(7);
    auto const v = testing::random_tensor<float>(random, std::array<index_t, 1>{9});
    auto far = sizes;
    far.magnitude = 60;
    check_fused<float>(additive(v) | causal | softmax | weighted_sum, far);
}

TEST_CASE("tanh of sums where exponentials are normal numbers and their products overflow, fused", "[driver]") {
    auto far = sizes;
    far.magnitude = 35;
    check_fused_at_all_widths<float>(compare(sum(square(tanh(q + k)))) | softmax | weighted_sum, far);
}

TEST_CASE("tanh of any sum with any factor, fused", "[driver]") {
    testing::dice random(7);
    auto const a = testing::random_tensor<float>(random, std::array<index_t, 2>{4, 9});
    check_fused<float>(compare(sum(-(param(a)[head] * tanh(k + 2 * q)) / 3)) | softmax | weighted_sum, sizes);
    check_fused<float>(compare(sum(tanh(q + k)) * param(a)(head, 2)) | causal | softmax | weighted_sum, sizes);
    check_fused<float>(compare(sum(q * tanh(q + k))) | softmax | weighted_sum, sizes);
    check_fused<float>(compare(sum(k * tanh(q + k)) + sum(square(tanh(k + q)))) | softmax | weighted_sum, sizes);
    auto far = sizes;
    far.magnitude = 20;
    check_fused<float>(compare(sum(param(a)[head] * tanh(q + k))) | softmax | weighted_sum, far);
    auto const great = testing::random_tensor<float>(random, std::array<index_t, 1>{9}, 1e25);
    check_fused<float>(compare(sum(param(great) * tanh(q + k)) * 1e-25) | softmax | weighted_sum, far);
}

TEST_CASE("the second score of graph attention over all pairs, fused", "[driver]") {
    testing::dice random(7);
    auto const a = testing::random_tensor<float>(random, std::array<index_t, 2>{4, 9});
    check_fused<float>(gatv2_score(a) | softmax | weighted_sum, sizes);
}
