// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention over graphs, against the definition.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"
#include "support/random_graph.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

testing::call_sizes const sizes{
    .batches = 2, .heads = 4, .key_heads = 2, .queries = 41, .keys = 53, .features = 9, .value_features = 18};

}  // namespace

TEST_CASE("inner products along edges, fused", "[driver]") {
    auto const g = random_graph(41, 53, 300);
    check_fused<float>(scaled_dot | neighbors(g) | softmax | weighted_sum, sizes);
    check_fused<double>(scaled_dot | neighbors(g) | softmax | weighted_sum, sizes);
}

TEST_CASE("graph attention, fused", "[driver]") {
    testing::dice random(7);
    auto const g = random_graph(41, 53, 300);
    auto const target = testing::random_tensor<float>(random, std::array<index_t, 2>{4, 9});
    auto const source = testing::random_tensor<float>(random, std::array<index_t, 2>{4, 9});
    check_fused_at_all_widths<float>(
        gat_score(target, source) | neighbors(g) | softmax | weighted_sum | concat_heads | map(elu(out)), sizes);
    check_fused<float>(gatv2_score(target) | neighbors(g) | softmax | weighted_sum, sizes);
}

TEST_CASE("rows longer than a chunk of edges, fused", "[driver]") {
    auto const g = random_graph(3, 150, 600);
    auto const n = testing::call_sizes{.queries = 3, .keys = 150, .features = 4, .value_features = 5};
    check_fused<float>(cosine | neighbors(g) | where((q_idx + kv_idx) % 5 != 0) | softmax | weighted_sum, n);
    check_fused<float>(dot | neighbors(g) | hardmax | weighted_sum, n);
}

TEST_CASE("a graph without edges gives zeros, fused", "[driver]") {
    auto const g = random_graph(41, 53, 0);
    check_fused<float>(scaled_dot | neighbors(g) | softmax | weighted_sum, sizes);
}
