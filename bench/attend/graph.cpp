// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graph attention on a random graph of the size of a citation network: only edges are visited.
#include "bench/family.hpp"
#include "bench/yardstick/power_law_graph.hpp"
#include "bench/yardstick/random.hpp"
#include "bench/yardstick/unfused.hpp"

#include <fovea/fovea.hpp>

namespace {

using bench::shape;

constexpr shape sizes{.heads = 8, .length = 169343, .size = 8};
constexpr std::int32_t edges = 1166243;

fovea::graph const& citations() {
    static fovea::graph const graph = yardstick::power_law_graph(static_cast<std::int32_t>(sizes.length), edges, 1);
    return graph;
}

fovea::tensor<float, 2> score_weights(std::uint64_t seed) {
    return yardstick::random_tensor<float, 2>({sizes.heads, sizes.size}, seed, 0.3);
}

/// The heads of a node side by side, as a projection leaves them, and seen as (batch, head, node, feature).
struct features {
    fovea::tensor<float, 2> stored;

    explicit features(std::uint64_t seed)
        : stored(yardstick::random_tensor<float, 2>({sizes.length, sizes.heads * sizes.size}, seed)) {}
    fovea::view<float, 4> heads() {
        return {stored.data(),
                {1, sizes.heads, sizes.length, sizes.size},
                {stored.size(), sizes.size, stored.extent(1), 1}};
    }
};

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

bench::family const rows([] {
    bench::add<float>("attend/gat", sizes, gat);
    bench::add<float>("eigen/gat", sizes, unfused_gat);
    bench::add<float>("attend/gatv2", sizes, gatv2);
    bench::add<float>("eigen/gatv2", sizes, unfused_gatv2);
});

}  // namespace
