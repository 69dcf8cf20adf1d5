// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs whose nodes hold the features of all heads side by side: tables, masks, every class of normalizer, outputs.
#include <fovea/fovea.hpp>

#include "catch.hpp"
#include "support/node_features.hpp"
#include "support/random_graph.hpp"

#include <limits>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("indices and tables of pairs, heads side by side", "[driver]") {
    testing::dice random(11);
    auto const g = random_graph(nodes, nodes, 300);
    auto const of_edge = testing::random_tensor<float>(random, std::array<index_t, 1>{g.view().edges()});
    auto const of_edge_and_head = testing::random_tensor<float>(random, std::array<index_t, 2>{g.view().edges(), 8});
    auto const of_node = testing::random_tensor<float>(random, std::array<index_t, 2>{8, nodes});
    auto const feature_weights = testing::random_tensor<float>(random, std::array<index_t, 3>{2, 9, 8});
    node_features<float> const n(8, 8, 8);
    auto const base = compare(sum(q * k) * rsqrt(dim));
    n.check<arch::best>(base | rescore(score + param(of_edge)[edge]) | neighbors(g) | softmax | weighted_sum);
    n.check<arch::best>(compare(sum(abs(q - k) * param(of_edge)[edge])) | where(param(of_edge)[edge] > -1)
                        | neighbors(g) | softmax | reweight(weight * (edge + 1)) | weighted_sum);
    n.check<arch::best>(base | rescore(score * param(of_edge_and_head)(edge, head)) | neighbors(g) | softmax
                        | weighted_sum);
    n.check<arch::best>(base | rescore(score + param(of_node)(head, kv_idx) * (head + 1)) | neighbors(g) | softmax
                        | weighted_sum);
    n.check<arch::best>(compare(sum(param(feature_weights)(1, head + 1) * abs(q - k))) | neighbors(g) | softmax
                        | weighted_sum);
    n.check<arch::best>(base | where((kv_idx + q_idx + head) % 3 != 0) | neighbors(g) | softmax | weighted_sum);
    n.check<arch::best>(base | where(edge % 2 == 0 && edge > 10 && 5 <= edge) | neighbors(g) | softmax | weighted_sum);
    n.check<arch::best>(base | where(head < 4 || head >= 6) | neighbors(g) | softmax | weighted_sum);
}

TEST_CASE("every class of normalizer and aggregator, heads side by side", "[driver]") {
    testing::dice random(13);
    auto const g = random_graph(nodes, nodes, 300);
    auto const of_head = testing::random_tensor<float>(random, std::array<index_t, 1>{8});
    node_features<float> const n(8, 8, 8);
    auto const scores = scaled_dot | neighbors(g);
    n.check<arch::best>(scores | weigh(sigmoid(score)) | weighted_sum);
    n.check<arch::best>(scores | softmax_with_sink(param(of_head)[head]) | weighted_sum);
    n.check<arch::best>(scores | sparsemax | weighted_sum);
    n.check<arch::best>(scores | hardmax | weighted_sum);
    n.check<arch::best>(scores | softmax | reweight(weight * param(of_head)[head]) | weighted_sum);
    n.check<arch::best>(scores | softmax | max_pool);
    n.check<arch::best>(scores | where((kv_idx + head) % 2 == 0) | softmax | max_pool);
}

TEST_CASE("what a pair without part holds does not matter, heads side by side", "[driver]") {
    auto const g = random_graph(nodes, nodes, 300);
    auto const spec = scaled_dot | where(kv_idx % 4 != head % 4) | neighbors(g) | softmax | weighted_sum;
    node_features<float> const clean(8, 8, 8), poisoned(8, 8, 8);
    for (index_t h = 0; h < 8; ++h)
        for (index_t i = h % 4; i < nodes; i += 4)
            for (index_t c = 0; c < 8; ++c) {
                poisoned.value.view_of_heads()(0, h, i, c) = std::numeric_limits<float>::infinity();
                poisoned.key.view_of_heads()(0, h, i, c) = std::numeric_limits<float>::quiet_NaN();
            }
    for (auto const* n : {&clean, &poisoned})
        attend(spec, n->query.view_of_heads(), n->key.view_of_heads(), n->value.view_of_heads(),
               n->result.view_of_heads());
    for (index_t i = 0; i < clean.result.stored.size(); ++i) CHECK(clean.result.stored[i] == poisoned.result.stored[i]);
}

TEST_CASE("log-sum-exp of heads side by side", "[driver]") {
    auto const g = random_graph(nodes, nodes, 300);
    auto const spec = scaled_dot | neighbors(g) | softmax | weighted_sum;
    node_features<float> const n(3, 8, 8);
    tensor<float, 3> got({1, 3, nodes}), beside_weights({1, 3, nodes});
    tensor<float, 4> all({1, 3, nodes, nodes});
    auto const queries = n.query.view_of_heads(), keys = n.key.view_of_heads(), values = n.value.view_of_heads();
    attend(spec, queries, keys, values, n.result.view_of_heads(), lse(got));
    attend(spec, queries, keys, values, n.result.view_of_heads(), lse(beside_weights), weights(all));
    for (std::size_t i = 0; i < got.elements.size(); ++i) {
        auto const expected = beside_weights.elements[i];
        if (std::isinf(expected)) CHECK(got.elements[i] == expected);
        else CHECK(got.elements[i] == Approx(expected).margin(1e-5));
    }
}
