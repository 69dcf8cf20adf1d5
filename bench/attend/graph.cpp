// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graph attention on a random graph of the size of a citation network: only edges are visited.
#include "bench/peer/graph.hpp"
#include "bench/check.hpp"
#include "bench/family.hpp"
#include "bench/graph_rows.hpp"
#include "bench/yardstick/unfused.hpp"

#include <fovea/fovea.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace {

using bench::shape;
using fovea::index_t;

using bench::citations;
using bench::score_weights;
using features = bench::node_features;
constexpr auto sizes = bench::citation_sizes;
constexpr auto edges = bench::citation_edges;

/// GAT reads one feature vector per node; its score costs no product over features per edge.
bench::work const gat_work{.flops = 2.0 * static_cast<double>(sizes.heads * edges * sizes.size), .edges = edges};
bench::work const gatv2_work{.flops = 2 * gat_work.flops, .edges = gat_work.edges};

void gat(benchmark::State& state) {
    features h(1), result(2);
    auto const target = score_weights(5), source = score_weights(6);
    auto const spec =
        fovea::gat_score(target, source) | fovea::neighbors(citations()) | fovea::softmax | fovea::weighted_sum;
    fovea::workspace scratch;
    auto const x = h.heads();
    bench::measure<float>(state, gat_work, [&] { fovea::attend(scratch, spec, x, x, x, result.heads()); });
}

void unfused_gat(benchmark::State& state) {
    features h(1), result(2);
    auto const target = score_weights(5), source = score_weights(6);
    bench::measure<float>(state, gat_work, [&] {
        unfused::gat<float>(citations(), h.heads(), target.view(), source.view(), result.heads());
    });
}

/// The layer of a library, after its result has been compared with that of fovea.
void peer_gat(benchmark::State& state, bench::peer::graph_library const& library) {
    features h(1), result(2);
    auto target = score_weights(5), source = score_weights(6);
    auto const program = library.prepare({citations(), h.stored, target, source, result.stored});
    auto const x = h.heads();
    auto const spec =
        fovea::gat_score(target, source) | fovea::neighbors(citations()) | fovea::softmax | fovea::weighted_sum;
    fovea::attend(spec, x, x, x, result.heads());
    auto const expected = result.stored;
    program.call();
    program.settle();
    bench::check(library.name, result.stored, expected);
    bench::measure<float>(state, gat_work, program.call);
}

void gatv2(benchmark::State& state) {
    features query(1), key(2), value(3), result(4);
    auto const a = score_weights(5);
    auto const spec = fovea::gatv2_score(a) | fovea::neighbors(citations()) | fovea::softmax | fovea::weighted_sum;
    fovea::workspace scratch;
    bench::measure<float>(state, gatv2_work, [&] {
        fovea::attend(scratch, spec, query.heads(), key.heads(), value.heads(), result.heads());
    });
}

void unfused_gatv2(benchmark::State& state) {
    features query(1), key(2), value(3), result(4);
    auto const a = score_weights(5);
    bench::measure<float>(state, gatv2_work, [&] {
        unfused::gatv2<float>(citations(), query.heads(), key.heads(), value.heads(), a.view(), result.heads());
    });
}

/// Sums over the edges of each node in turn, feature by feature, as one writes them first: every edge adds its vector
/// to its key inside the inner product.
void loop_over_edges(fovea::graph_view graph, fovea::view<float const, 4> query, fovea::view<float const, 4> key,
                     fovea::view<float const, 4> value, fovea::view<float const, 2> vectors,
                     fovea::view<float, 4> result) {
    index_t const heads = query.extent(1), size = query.extent(3);
    float const scale = 1 / std::sqrt(static_cast<float>(size));
    std::vector<float> weights;
    for (index_t i = 0; i < graph.queries(); ++i)
        for (index_t h = 0; h < heads; ++h) {
            auto const keys = graph.of(i);
            index_t const first = graph.offsets[static_cast<std::size_t>(i)];
            weights.resize(keys.size());
            float const* const q = query.place(0, h, i, 0);
            float greatest = -std::numeric_limits<float>::infinity(), total = 0;
            for (std::size_t e = 0; e < keys.size(); ++e) {
                float const *const k = key.place(0, h, keys[e], 0), *const x = vectors.place(
                                                                        graph.number(first + static_cast<index_t>(e)),
                                                                        0);
                float sum = 0;
                for (index_t c = 0; c < size; ++c) sum += q[c] * (k[c] + x[c]);
                weights[e] = sum * scale;
                greatest = std::max(greatest, weights[e]);
            }
            for (float& w : weights) total += w = std::exp(w - greatest);
            float* const out = result.place(0, h, i, 0);
            std::fill_n(out, size, 0.0f);
            for (std::size_t e = 0; e < keys.size(); ++e) {
                float const* const v = value.place(0, h, keys[e], 0);
                for (index_t c = 0; c < size; ++c) out[c] += weights[e] / total * v[c];
            }
        }
}

/// 16 edges to each of some thousand nodes, each edge with a vector that all heads share.
void edge_vectors(benchmark::State& state, shape const& s) {
    auto const edge_count = static_cast<std::int32_t>(16 * s.length);
    auto const graph = yardstick::power_law_graph(static_cast<std::int32_t>(s.length), edge_count, 1);
    features query(1, s), key(2, s), value(3, s), result(4, s);
    auto const vectors = yardstick::random_tensor<float, 2>({edge_count, s.size}, 5);
    using namespace fovea::placeholders;
    auto const spec = fovea::compare(sum(q * (k + fovea::param(vectors)[edge])) * rsqrt(dim)) | fovea::neighbors(graph)
                    | fovea::softmax | fovea::weighted_sum;
    fovea::workspace scratch;
    bench::work const work{.flops = 5.0 * static_cast<double>(s.heads * edge_count * s.size),
                           .edges = static_cast<double>(edge_count)};
    bench::measure<float>(
        state, work, [&] { fovea::attend(scratch, spec, query.heads(), key.heads(), value.heads(), result.heads()); },
        bench::over_hand([&] {
            loop_over_edges(graph, query.heads(), key.heads(), value.heads(), vectors.view(), result.heads());
        }));
}

bench::family const rows([] {
    bench::add<float>("attend/gat", sizes, gat);
    bench::add<float>("eigen/gat", sizes, unfused_gat);
    for (auto const& library : bench::peer::graph_libraries())
        bench::add<float>(library.name + "/gat", sizes, [=](benchmark::State& state) { peer_gat(state, library); });
    bench::add<float>("attend/gatv2", sizes, gatv2);
    bench::add<float>("eigen/gatv2", sizes, unfused_gatv2);
    for (shape const s : {shape{.heads = 1, .length = 4096, .size = 32}, shape{.heads = 1, .length = 4096, .size = 64},
                          shape{.heads = 8, .length = 4096, .size = 8}, shape{.heads = 8, .length = 4096, .size = 32}})
        bench::add<float>("attend/edge_vectors", s, [s](benchmark::State& state) { edge_vectors(state, s); });
});

}  // namespace
