// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward and backward of graph attention on the graph of attend/graph.cpp.
#include "bench/family.hpp"
#include "bench/graph_rows.hpp"
#include "bench/measure.hpp"

#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

namespace {

using features = bench::node_features;
using bench::citations;
using bench::score_weights;

/// `over_forward` is the time of both calls relative to the forward call alone.
template <class Forward, class Backward>
void measure_both(benchmark::State& state, Forward const& forward, Backward const& backward) {
    bench::measure<float>(
        state, {.edges = bench::citation_edges},
        [&] {
            forward();
            backward();
        },
        bench::versus{"over_forward", forward});
}

void gat(benchmark::State& state) {
    features h(1), result(2), d_result(3), d_h(4);
    auto const target = score_weights(5), source = score_weights(6);
    auto d_target = target, d_source = source;
    auto const spec =
        fovea::gat_score(target, source) | fovea::neighbors(citations()) | fovea::softmax | fovea::weighted_sum;
    fovea::workspace scratch, other_scratch;
    auto const x = h.heads();
    measure_both(
        state, [&] { fovea::attend(other_scratch, spec, x, x, x, result.heads()); },
        [&] {
            fovea::gradient(scratch, spec, x, x, x, d_result.heads(), fovea::grad(x, d_h.heads()),
                            fovea::grad(target, d_target), fovea::grad(source, d_source));
        });
}

void gatv2(benchmark::State& state) {
    features query(1), key(2), value(3), result(4), d_result(5), d_query(6), d_key(7), d_value(8);
    auto const a = score_weights(9);
    auto d_a = a;
    auto const spec = fovea::gatv2_score(a) | fovea::neighbors(citations()) | fovea::softmax | fovea::weighted_sum;
    fovea::workspace scratch, other_scratch;
    auto const q = query.heads(), k = key.heads(), v = value.heads();
    measure_both(
        state, [&] { fovea::attend(other_scratch, spec, q, k, v, result.heads()); },
        [&] {
            fovea::gradient(scratch, spec, q, k, v, d_result.heads(), fovea::grad(q, d_query.heads()),
                            fovea::grad(k, d_key.heads()), fovea::grad(v, d_value.heads()), fovea::grad(a, d_a));
        });
}

bench::family const rows([] {
    bench::add<float>("train/gat", bench::citation_sizes, gat);
    bench::add<float>("train/gatv2", bench::citation_sizes, gatv2);
});

}  // namespace
