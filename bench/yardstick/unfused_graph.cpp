// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/yardstick/eigen_maps.hpp"
#include "bench/yardstick/unfused.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace unfused {
namespace {

/// leaky_relu(x) = max(x, 0.2 x), in place.
template <class Scores>
void leaky_relu(Scores& scores) {
    scores = scores.cwiseMax(scores * static_cast<typename Scores::Scalar>(0.2));
}

/// For every edge the row of its source, in an array as long as the edges.
template <class Rows, class Lists>
auto gather(Rows const& rows, Lists const& at) {
    matrix<typename Rows::Scalar> gathered(static_cast<index_t>(at.size()), rows.cols());
    for (std::size_t e = 0; e < at.size(); ++e) gathered.row(static_cast<index_t>(e)) = rows.row(at[e]);
    return gathered;
}

/// Calls f with each node and its first edge and number of edges.
template <class F>
void for_each_node(fovea::graph_view graph, F f) {
    for (index_t i = 0; i < graph.queries(); ++i) {
        auto const first = graph.offsets[static_cast<std::size_t>(i)];
        f(i, first, graph.offsets[static_cast<std::size_t>(i) + 1] - first);
    }
}

/// The node each edge belongs to.
std::vector<std::int32_t> owners(fovea::graph_view graph) {
    std::vector<std::int32_t> owner(graph.keys.size());
    for_each_node(graph, [&](index_t node, index_t first, index_t count) {
        std::fill_n(owner.begin() + first, count, static_cast<std::int32_t>(node));
    });
    return owner;
}

/// The scores of all edges become weights, each node's edges together; then the weighted messages are summed.
template <class T, class Values, class Result>
void aggregate(fovea::graph_view graph, vector<T>& scores, Values const& values, Result&& result) {
    matrix<T> messages = gather(values, graph.keys);
    for_each_node(graph, [&](index_t, index_t first, index_t count) {
        if (count > 0) softmax(scores.segment(first, count));
    });
    messages.array().colwise() *= scores.array();
    for_each_node(graph, [&](index_t node, index_t first, index_t count) {
        result.row(node) = messages.middleRows(first, count).colwise().sum();
    });
}

}  // namespace

template <class T>
void gat(fovea::graph_view graph, fovea::view<T const, 4> features, fovea::view<T const, 2> a,
         fovea::view<T const, 2> b, fovea::view<T, 4> result) {
    auto const owner = owners(graph);
    for (index_t head = 0; head < features.extent(1); ++head) {
        auto const nodes = head_of(features, 0, head);
        vector<T> const own = nodes * row_of(a, head), other = nodes * row_of(b, head);
        vector<T> scores = gather(own, owner) + gather(other, graph.keys);
        leaky_relu(scores);
        aggregate(graph, scores, nodes, head_of(result, 0, head));
    }
}

template <class T>
void gatv2(fovea::graph_view graph, fovea::view<T const, 4> query, fovea::view<T const, 4> key,
           fovea::view<T const, 4> value, fovea::view<T const, 2> a, fovea::view<T, 4> result) {
    auto const owner = owners(graph);
    for (index_t head = 0; head < query.extent(1); ++head) {
        matrix<T> pairs = gather(head_of(query, 0, head), owner) + gather(head_of(key, 0, head), graph.keys);
        leaky_relu(pairs);
        vector<T> scores = pairs * row_of(a, head);
        aggregate(graph, scores, head_of(value, 0, head), head_of(result, 0, head));
    }
}

template void gat(fovea::graph_view, fovea::view<float const, 4>, fovea::view<float const, 2>,
                  fovea::view<float const, 2>, fovea::view<float, 4>);
template void gatv2(fovea::graph_view, fovea::view<float const, 4>, fovea::view<float const, 4>,
                    fovea::view<float const, 4>, fovea::view<float const, 2>, fovea::view<float, 4>);

}  // namespace unfused
