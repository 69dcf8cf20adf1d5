// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

#include "call.hpp"

namespace {

constexpr fovea::index_t nodes = 1000, heads = 8, size = 8;

/// Node i sees i / 50 others, so that rows of all lengths up to 20 occur.
fovea::graph some_graph() {
    fovea::testing::dice from(5);
    std::vector<fovea::graph::edge> edges;
    for (fovea::index_t i = 0; i < nodes; ++i)
        for (fovea::index_t e = 0; e < i / 50; ++e) edges.push_back({i, from.between(0, nodes - 1)});
    return {nodes, edges};
}

/// The heads of a node side by side, seen as (batch, head, node, feature).
template <class Tensor>
auto split(Tensor& t) {
    return fovea::view<std::remove_pointer_t<decltype(t.data())>, 4>{
        t.data(), {1, heads, nodes, size}, {t.size(), size, heads * size, 1}};
}

}  // namespace

std::function<void()> regression::prepare() {
    static auto const features = numbers(1, nodes, heads * size);
    static auto const target = numbers(2, heads, size), source = numbers(3, heads, size);
    static auto const graph = some_graph();
    static fovea::tensor<float, 2> result({nodes, heads * size});
    static fovea::workspace scratch;
    return [] {
        fovea::attend(scratch,
                      fovea::gat_score(target, source) | fovea::neighbors(graph) | fovea::softmax | fovea::weighted_sum,
                      split(features), split(features), split(features), split(result));
    };
}
