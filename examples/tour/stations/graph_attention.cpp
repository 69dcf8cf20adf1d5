// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "stations/stations.hpp"

#include "bench/yardstick/power_law_graph.hpp"
#include "bench/yardstick/random.hpp"
#include "bench/yardstick/unfused.hpp"
#include "data/club_members.hpp"
#include "data/karate_club.hpp"
#include "picture/graph_drawing.hpp"
#include "stations/report.hpp"

#include <cstdio>

namespace tour {
namespace {

using namespace fovea;
using namespace fovea::placeholders;
using yardstick::random_tensor;

void draw(tensor<float, 4> const& shares, std::string const& path) {
    using namespace karate_club;
    auto const paid = [&](int from, int to) {
        double sum = 0;
        for (index_t h = 0; h < shares.extent(1); ++h) sum += static_cast<double>(shares(0, h, from - 1, to - 1));
        return sum / static_cast<double>(shares.extent(1));
    };
    std::vector<int> degree(members + 1);
    std::vector<picture::drawn_edge> edges;
    for (auto const& [a, b] : friendships) {
        edges.push_back({a - 1, b - 1, paid(a, b), paid(b, a)});
        ++degree[static_cast<std::size_t>(a)], ++degree[static_cast<std::size_t>(b)];
    }
    std::vector<picture::drawn_node> nodes;
    for (int i = 1; i <= members; ++i)
        nodes.push_back({std::to_string(i), stayed(i), paid(i, i), degree[static_cast<std::size_t>(i)]});
    picture::save_graph(path, "Graph attention on Zachary's karate club",
                        "34 members attend to their friends and themselves: GATv2, mean of eight heads. "
                        "1 is the instructor, 34 the officer.",
                        nodes, edges, "stayed with the instructor", "left with the officer");
    std::printf("  drawn in %s\n", path.c_str());
}

/// Two layers on the club: eight heads side by side, then eight heads averaged.
void look_at_club(std::string const& path) {
    auto const graph = club_members::friends_and_self();
    auto const x = club_members::features();
    auto const W = club_members::projection(8), a = club_members::score_weights(8);
    auto const W2 = random_tensor<float, 2>({W.extent(1), 8 * 2}, 5, 0.2);
    auto const a_target = random_tensor<float, 2>({8, 2}, 6), a_source = random_tensor<float, 2>({8, 2}, 7);

    //! [graph]
    auto const first = project(W, W, W, heads<8>) | gatv2_score(a) | neighbors(graph)
                     | softmax | weighted_sum | concat_heads | map(elu(out));
    auto const last = project(W2, W2, W2, heads<8>) | gat_score(a_target, a_source) | neighbors(graph)
                    | softmax | weighted_sum | mean_heads;
    //! [graph]

    tensor<float, 2> hidden({x.extent(0), W.extent(1)}), result({x.extent(0), 2});
    tensor<float, 4> shares({1, 8, x.extent(0), x.extent(0)});
    attend(first, x, hidden, weights(shares));
    attend(last, hidden, result);
    std::printf("\n  34 members, 78 friendships: %s -> %s -> %s\n    %s\n    %s\n", to_text(x.extents).c_str(),
                to_text(hidden.extents).c_str(), to_text(result.extents).c_str(), wrapped(text(first), "    ").c_str(),
                wrapped(text(last), "    ").c_str());
    draw(shares, path);
}

/// elu(x) is x above 0 and exp(x) - 1 below.
void elu_in_place(tensor<float, 2>& values) {
    for (float& value : values) value = value > 0 ? value : std::exp(value) - 1;
}

void report_speed() {
    constexpr index_t nodes = 20000, edges = 140000, head_count = 8, size = 16;
    auto const graph = yardstick::power_law_graph(nodes, edges, 1);
    auto const x = random_tensor<float, 2>({nodes, 32}, 1);
    auto const W = random_tensor<float, 2>({32, head_count * size}, 2, 0.2);
    extents_t<2> const per_head{head_count, size};
    auto const target = random_tensor<float, 2>(per_head, 3, 0.3), source = random_tensor<float, 2>(per_head, 4, 0.3);
    tensor<float, 2> result({nodes, head_count * size});
    auto const split = [](auto& matrix) { return split_heads(as_heads(matrix.view()), head_count, ""); };
    double const product = 2.0 * nodes * 32 * head_count * size, sum = 2.0 * edges * head_count * size;

    auto const gat = project(W, W, W, heads<8>) | gat_score(target, source) | neighbors(graph) | softmax |
                     weighted_sum | concat_heads | map(elu(out));
    report("GAT, 20000 nodes, 140000 edges, 8 heads of 16", gat, product + sum,
           [&] {
               auto const h = unfused::product<float>(x.view(), W.view());
               unfused::gat<float>(graph, split(h), target.view(), source.view(), split(result));
               elu_in_place(result);
           },
           result, x);

    auto const gatv2 = project(W, W, W, heads<8>) | gatv2_score(target) | neighbors(graph) | softmax | weighted_sum |
                       concat_heads | map(elu(out));
    report("GATv2, the same", gatv2, product + 2 * sum,
           [&] {
               auto const h = unfused::product<float>(x.view(), W.view());
               unfused::gatv2<float>(graph, split(h), split(h), split(h), target.view(), split(result));
               elu_in_place(result);
           },
           result, x);
}

}  // namespace

void graph_attention(std::filesystem::path const& pictures) {
    heading(5, "Graph attention: a node looks at its neighbours and nobody else");
    look_at_club((pictures / "karate_club.svg").string());
    report_speed();
}

}  // namespace tour
