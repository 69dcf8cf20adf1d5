// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vectors of edges inside the inner product of a graph: tables that sum() reads for each pair, feature by feature.
#include <fovea/fovea.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"
#include "support/fused.hpp"
#include "support/node_features.hpp"
#include "support/random_graph.hpp"

#include <utility>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// A vector for each edge, and one for each edge and head.
template <class T>
struct edge_vectors {
    tensor<T, 2> shared;
    tensor<T, 3> of_head;

    edge_vectors(index_t edges, index_t heads, index_t features) {
        testing::dice random(19);
        shared = testing::random_tensor<T>(random, std::array<index_t, 2>{edges, features});
        of_head = testing::random_tensor<T>(random, std::array<index_t, 3>{edges, heads, features});
    }
};

auto averaged_over(graph_view g, auto const& score) { return compare(score) | neighbors(g) | softmax | weighted_sum; }

}  // namespace

TEMPLATE_LIST_TEST_CASE("vectors of edges inside the inner product", "[driver]", lane_widths) {
    auto const given = random_graph(nodes, nodes, 301);  // in no order, so that edges have numbers
    graph_view const sorted{given.view().offsets, given.view().keys};
    for (auto const& [heads, features] : std::initializer_list<std::pair<index_t, index_t>>{
             {1, 1}, {1, 16}, {1, 33}, {3, 5}, {4, 2}, {8, 2}, {8, 4}, {4, 8}, {8, 8}, {16, 8}, {2, 40}, {20, 7}}) {
        edge_vectors<float> const vectors(sorted.edges(), heads, features);
        node_features<float> const n(heads, features, 5);
        for (auto const& g : {given.view(), sorted}) {
            n.check<TestType>(averaged_over(g, sum(q * (k + param(vectors.shared)[edge])) * rsqrt(dim)));
            n.check<TestType>(averaged_over(g, sum(q * (k + param(vectors.of_head)(edge, head)))));
        }
    }
}

TEST_CASE("tables of any kind beside each other inside the inner product", "[driver]") {
    auto const g = random_graph(nodes, nodes, 301);
    testing::dice random(23);
    auto const of_feature = testing::random_tensor<float>(random, std::array<index_t, 1>{8});
    auto const of_edge = testing::random_tensor<float>(random, std::array<index_t, 1>{g.view().edges()});
    auto const of_edge_and_head = testing::random_tensor<float>(random, std::array<index_t, 2>{g.view().edges(), 8});
    auto const of_node = testing::random_tensor<float>(random, std::array<index_t, 2>{nodes, 8});
    edge_vectors<float> const vectors(g.view().edges(), 8, 8);
    edge_vectors<bfloat16> const short_vectors(g.view().edges(), 8, 8);
    edge_vectors<float16> const half_vectors(g.view().edges(), 8, 8);
    node_features<float> const n(8, 8, 8);
    auto const each = [&](auto const& score) { n.check<arch::best>(averaged_over(g, score)); };
    each(sum(q * (k + param(short_vectors.shared)[edge] - param(half_vectors.of_head)(edge, head))));
    each(sum(param(of_feature) * tanh(q + k + param(vectors.shared)[edge])));
    each(sum(q * k * param(of_edge_and_head)(edge, head) + abs(param(of_node)[kv_idx] - q) * param(of_edge)[edge]));
    each(sum(select(edge % 2 == 0, param(vectors.shared)[edge], param(of_node)[q_idx]) * k * (head + 1)));
    each(sum(q * k) + sum(q * param(vectors.of_head)(edge, head)) + param(of_edge)[edge]);
    n.check<arch::best>(compare(sum(q * (k + param(vectors.shared)[edge]))) | where(edge % 3 != 0) | neighbors(g)
                        | sparsemax | weighted_sum);
}

TEST_CASE("vectors of edges inside the inner product in double", "[driver]") {
    auto const g = random_graph(nodes, nodes, 301);
    for (index_t features : {4, 9}) {
        edge_vectors<double> const vectors(g.view().edges(), 4, features);
        node_features<double> const n(4, features, 4);
        n.check<arch::best>(averaged_over(g, sum(q * (k + param(vectors.shared)[edge]))));
    }
}

TEST_CASE("vectors of edges where heads share keys, and nodes are many", "[driver]") {
    auto const g = random_graph(41, 53, 301);
    edge_vectors<float> const vectors(g.view().edges(), 4, 9);
    testing::call_sizes const shared{
        .batches = 2, .heads = 4, .key_heads = 2, .queries = 41, .keys = 53, .features = 9, .value_features = 18};
    check_fused<float>(
        averaged_over(g, sum(q * (k + param(vectors.shared)[edge] + param(vectors.of_head)(edge, head)))), shared);
    auto const wide = random_graph(4, 40000, 90);  // more than stays near: what comes is prefetched
    edge_vectors<float> const wide_vectors(wide.view().edges(), 1, 16);
    testing::call_sizes const many{.queries = 4, .keys = 40000, .features = 16, .value_features = 16};
    check_fused<float>(averaged_over(wide, sum(q * (k + param(wide_vectors.shared)[edge]))), many);
}

TEST_CASE("log-sum-exp and weights with vectors of edges", "[driver]") {
    auto const g = random_graph(nodes, nodes, 301);
    edge_vectors<float> const vectors(g.view().edges(), 3, 8);
    auto const spec = averaged_over(g, sum(q * (k + param(vectors.of_head)(edge, head))));
    node_features<float> const n(3, 8, 8);
    tensor<float, 3> got({1, 3, nodes}), beside_weights({1, 3, nodes});
    tensor<float, 4> all({1, 3, nodes, nodes}), result({1, 3, nodes, 8});
    auto const queries = n.query.view_of_heads(), keys = n.key.view_of_heads(), values = n.value.view_of_heads();
    attend(spec, queries, keys, values, n.result.view_of_heads(), lse(got));
    attend(spec, queries, keys, values, result, lse(beside_weights), weights(all));
    for (std::size_t i = 0; i < got.elements.size(); ++i)
        if (!std::isinf(beside_weights.elements[i]))
            CHECK(got.elements[i] == Approx(beside_weights.elements[i]).margin(1e-5));
    for (index_t h = 0; h < 3; ++h)
        for (index_t i = 0; i < nodes; ++i)
            for (index_t c = 0; c < 8; ++c) {
                double expected = 0;
                for (index_t j = 0; j < nodes; ++j) expected += double{all(0, h, i, j)} * double{values(0, h, j, c)};
                CHECK(n.result.view_of_heads()(0, h, i, c) == Approx(expected).margin(1e-4));
            }
}
