// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dense attention with every kind of score, against the definition.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

testing::call_sizes const sizes{
    .batches = 2, .heads = 4, .key_heads = 2, .queries = 37, .keys = 70, .features = 9, .value_features = 18};

}  // namespace

TEST_CASE("inner products, fused", "[driver]") {
    check_fused_at_all_widths<float>(scaled_dot | softmax | weighted_sum);
    check_fused<double>(scaled_dot | softmax | weighted_sum);
}

TEST_CASE("two norms and a product, fused", "[driver]") { check_fused<float>(cosine | softmax | weighted_sum); }

TEST_CASE("distances, fused", "[driver]") {
    check_fused<float>(compare(-sum(square(q - k)) / 4) | softmax | weighted_sum);
}

TEST_CASE("scores of positions alone, fused", "[driver]") {
    check_fused<float>(compare(-0.25f * abs(q_idx - kv_idx)) | softmax | weighted_sum);
}

TEST_CASE("graph attention over all pairs, fused", "[driver]") {
    testing::dice random(7);
    auto const target = testing::random_tensor<float>(random, std::array<index_t, 2>{4, 9});
    auto const source = testing::random_tensor<float>(random, std::array<index_t, 2>{4, 9});
    check_fused<float>(gat_score(target, source) | softmax | weighted_sum, sizes);
}
