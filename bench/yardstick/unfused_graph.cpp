// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/yardstick/eigen_maps.hpp"
#include "bench/yardstick/unfused.hpp"

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

/// The node each edge belongs to, from the offsets.
std::vector<std::int32_t> owners(edges const& graph) {
    std::vector<std::int32_t> owner(graph.targets.size());
    for (std::size_t i = 0; i + 1 < graph.offsets.size(); ++i)
        std::fill(owner.begin() + graph.offsets[i], owner.begin() + graph.offsets[i + 1], static_cast<std::int32_t>(i));
    return owner;
}

/// The scores of all edges become weights, each node's edges together; then the weighted messages are summed.
template <class T, class Values, class Result>
void aggregate(edges const& graph, vector<T>& scores, Values const& values, Result&& result) {
    matrix<T> messages = gather(values, graph.targets);
    for (std::size_t i = 0; i + 1 < graph.offsets.size(); ++i)
        if (auto const count = graph.offsets[i + 1] - graph.offsets[i]) softmax(scores.segment(graph.offsets[i], count));
    messages.array().colwise() *= scores.array();
    for (std::size_t i = 0; i + 1 < graph.offsets.size(); ++i)
        result.row(static_cast<index_t>(i)) =
            messages.middleRows(graph.offsets[i], graph.offsets[i + 1] - graph.offsets[i]).colwise().sum();
}

}  // namespace

template <class T>
void gat(edges const& graph, fovea::view<T const, 4> features, fovea::view<T const, 2> a, fovea::view<T const, 2> b,
         fovea::view<T, 4> result) {
    auto const owner = owners(graph);
    for (index_t head = 0; head < features.extent(1); ++head) {
        auto const nodes = head_of(features, 0, head);
        vector<T> const own = nodes * row_of(a, head), other = nodes * row_of(b, head);
        vector<T> scores = gather(own, owner) + gather(other, graph.targets);
        leaky_relu(scores);
        aggregate(graph, scores, nodes, head_of(result, 0, head));
    }
}

template <class T>
void gatv2(edges const& graph, fovea::view<T const, 4> query, fovea::view<T const, 4> key,
           fovea::view<T const, 4> value, fovea::view<T const, 2> a, fovea::view<T, 4> result) {
    auto const owner = owners(graph);
    for (index_t head = 0; head < query.extent(1); ++head) {
        matrix<T> pairs = gather(head_of(query, 0, head), owner) + gather(head_of(key, 0, head), graph.targets);
        leaky_relu(pairs);
        vector<T> scores = pairs * row_of(a, head);
        aggregate(graph, scores, head_of(value, 0, head), head_of(result, 0, head));
    }
}

template void gat(edges const&, fovea::view<float const, 4>, fovea::view<float const, 2>,
                  fovea::view<float const, 2>, fovea::view<float, 4>);
template void gatv2(edges const&, fovea::view<float const, 4>, fovea::view<float const, 4>,
                    fovea::view<float const, 4>, fovea::view<float const, 2>, fovea::view<float, 4>);

}  // namespace unfused
