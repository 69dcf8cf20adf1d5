// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A graph whose edges have features: in the score as numbers and as vectors, and in the values.
#include "check.hpp"

using namespace fovea;
using namespace fovea::placeholders;
using namespace how_to;

namespace {

constexpr index_t nodes = 5, heads_of_nodes = 2, d = 4;
using edges_t = std::vector<graph::edge>;

/// Which edge leads from a query to a key; -1 where none does.
index_t edge_between(edges_t const& edges, index_t query, index_t key) {
    for (std::size_t e = 0; e < edges.size(); ++e)
        if (edges[e].to == query && edges[e].from == key) return static_cast<index_t>(e);
    return -1;
}

}  // namespace

int main() {
    auto const x = random_tensor<4>({1, heads_of_nodes, nodes, d});
    tensor<float, 4> result(x.extents);

    //! [graph]
    edges_t const edges{{3, 0}, {0, 1}, {0, 2}, {1, 0}, {3, 4}, {0, 4}};  // {who looks, at whom}, in any order
    graph const g(nodes, edges);
    auto const number = random_tensor<2>({6, heads_of_nodes});     // (edge, head)
    auto const vector = random_tensor<3>({6, heads_of_nodes, d});  // (edge, head, feature)
    auto const a = random_tensor<2>({heads_of_nodes, d});          // (head, feature), learned with the layer
    //! [graph]

    //! [numbers]
    auto const weighted = scaled_dot | rescore(score + param(number)[edge][head]) | neighbors(g)
                        | softmax | weighted_sum;
    attend(weighted, x, result);
    //! [numbers]
    auto const plain = [&](auto const& score_of) {
        return plain_attention(
            [&](index_t b, index_t h, index_t i, index_t j) {
                index_t const e = edge_between(edges, i, j);
                return e < 0 ? minus_infinity : score_of(b, h, i, j, e);
            },
            heads_of_nodes, nodes, x);
    };
    auto const by_number = plain([&](index_t b, index_t h, index_t i, index_t j, index_t e) {
        return product(x, x, b, h, i, j) / 2 + static_cast<double>(number(e, h));
    });
    require(difference(result, by_number) < 1e-6f, "a number for each edge and head");

    //! [vectors]
    auto const gatv2 = compare(sum(param(a)[head] * leaky_relu(q + k + param(vector)[edge][head], 0.2f)))
                     | neighbors(g) | softmax | weighted_sum;
    attend(gatv2, x, result);
    //! [vectors]
    auto const by_vector = plain([&](index_t b, index_t h, index_t i, index_t j, index_t e) {
        double sum = 0;
        for (index_t c = 0; c < d; ++c) {
            double const s = static_cast<double>(x(b, h, i, c) + x(b, h, j, c) + vector(e, h, c));
            sum += static_cast<double>(a(h, c)) * (s > 0 ? s : 0.2 * s);
        }
        return sum;
    });
    require(difference(result, by_vector) < 1e-6f, "a vector for each edge and head");

    //! [values]
    // An edge carries a message of its own: each edge is a key, the sum of its source and its features.
    tensor<float, 4> message({1, heads_of_nodes, 6, d});
    edges_t to_message;
    for (index_t e = 0; e < 6; ++e) {
        auto const [to, from] = edges[static_cast<std::size_t>(e)];
        to_message.push_back({to, e});
        for (index_t h = 0; h < heads_of_nodes; ++h)
            for (index_t c = 0; c < d; ++c) message(0, h, e, c) = x(0, h, from, c) + vector(e, h, c);
    }
    graph const messages(nodes, to_message);
    attend(scaled_dot | neighbors(messages) | softmax | weighted_sum, x, message, message, result);
    //! [values]
    auto const by_message = plain_attention(
        [&](index_t b, index_t h, index_t i, index_t e) {
            return edges[static_cast<std::size_t>(e)].to == i ? product(x, message, b, h, i, e) / 2 : minus_infinity;
        },
        heads_of_nodes, nodes, message);
    require(difference(result, by_message) < 1e-6f, "features of edges in keys and values");
}
