// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the layers on random input and holds them to what has to be true of them.
#include "layers/graph_attention.hpp"
#include "layers/transformer.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace {

using layers::index_t;
using layers::matrix;

/// The greatest difference of the first rows of two matrices.
float difference(matrix const& a, matrix const& b, index_t rows) {
    float most = 0;
    for (index_t i = 0; i < rows; ++i)
        for (index_t c = 0; c < a.extent(1); ++c) most = std::max(most, std::abs(a(i, c) - b(i, c)));
    return most;
}

matrix permuted(matrix const& x, std::vector<index_t> const& order) {
    matrix result(x.extents);
    for (index_t i = 0; i < x.extent(0); ++i)
        for (index_t c = 0; c < x.extent(1); ++c) result(i, c) = x(order[static_cast<std::size_t>(i)], c);
    return result;
}

bool report(char const* law, bool holds, float error) {
    std::printf("%-80s %s (%.1e)\n", law, holds ? "holds" : "FAILS", static_cast<double>(error));
    return holds;
}

bool run_transformer() {
    fovea::testing::dice random(1);
    index_t const model = 32, sources = 11, targets = 9;
    layers::encoder_block const encode(random, model);
    layers::decoder_block const decode(random, model);
    auto const x = fovea::testing::random_tensor<float, 2>(random, {sources, model}, 2);
    auto const y = fovea::testing::random_tensor<float, 2>(random, {targets, model}, 2);

    std::vector<index_t> order(static_cast<std::size_t>(sources));
    std::iota(order.begin(), order.end(), index_t{0});
    std::reverse(order.begin(), order.end());
    float const moved = difference(encode(permuted(x, order)), permuted(encode(x), order), sources);
    bool good = report("an encoder gives permuted positions what it gives them unpermuted", moved < 1e-4f, moved);

    auto const encoded = encode(x);
    auto changed = y;
    for (index_t c = 0; c < model; ++c) changed(targets - 1, c) += 3;
    auto const before = decode(y, encoded), after = decode(changed, encoded);
    float const earlier = difference(before, after, targets - 1), all = difference(before, after, targets);
    good &= report("a decoder's position does not know what comes after it", earlier == 0 && all > 0.1f, earlier);
    return good;
}

bool run_graph() {
    fovea::testing::dice random(2);
    index_t const nodes = 12;
    layers::graph_attention_layer const layer(random, 6, 5);
    auto const x = fovea::testing::random_tensor<float, 2>(random, {nodes, 6});
    std::vector<fovea::graph::edge> ring, turned;
    for (index_t i = 0; i < nodes; ++i)
        for (index_t const j : {i, (i + 1) % nodes, (i + nodes - 1) % nodes}) {
            ring.push_back({i, j});
            turned.push_back({nodes - 1 - i, nodes - 1 - j});
        }
    std::vector<index_t> order(static_cast<std::size_t>(nodes));
    std::iota(order.begin(), order.end(), index_t{0});
    std::reverse(order.begin(), order.end());
    auto const result = layer(x, fovea::graph(nodes, ring));
    float const moved = difference(layer(permuted(x, order), fovea::graph(nodes, turned)), permuted(result, order), nodes);
    bool good = report("a graph layer does not depend on how nodes are numbered", moved < 1e-5f, moved);

    auto changed = x;
    for (index_t c = 0; c < 6; ++c) changed(6, c) += 1;
    float const far = difference(result, layer(changed, fovea::graph(nodes, ring)), 5);
    good &= report("a node knows of its neighbours alone", far == 0, far);
    return good;
}

}  // namespace

int main() {
    bool const transformer = run_transformer(), graph = run_graph();
    return transformer && graph ? EXIT_SUCCESS : EXIT_FAILURE;
}
