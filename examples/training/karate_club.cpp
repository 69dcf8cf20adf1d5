// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A graph attention network learns who stays with whom in Zachary's karate club, from the labels of its two leaders.
#include "data/karate_club.hpp"
#include "graph_attention.hpp"
#include "optimizer.hpp"
#include "picture/graph_drawing.hpp"
#include "session.hpp"

#include <algorithm>

using namespace training;

namespace {

constexpr int members = karate_club::members;

/// Each member looks at its friends and at itself.
fovea::graph friends_and_self() {
    std::vector<fovea::graph::edge> edges;
    for (int i = 0; i < members; ++i) edges.push_back({i, i});
    for (auto const& [a, b] : karate_club::friendships) {
        edges.push_back({a - 1, b - 1});
        edges.push_back({b - 1, a - 1});
    }
    return {members, edges};
}

/// All that is known: 0 for the instructor, 1 for the officer.
std::vector<int> known_sides() {
    std::vector<int> sides(members, no_target);
    sides[karate_club::instructor - 1] = 0;
    sides[karate_club::officer - 1] = 1;
    return sides;
}

std::vector<int> misplaced(matrix const& scores) {
    std::vector<int> found;
    for (int member = 1; member <= members; ++member) {
        bool const stays = scores(member - 1, 0) > scores(member - 1, 1);
        if (stays != karate_club::stayed(member)) found.push_back(member);
    }
    return found;
}

void draw(fovea::tensor<float, 4> const& shares, matrix const& scores, std::string const& path) {
    auto const paid = [&](int from, int to) {
        double sum = 0;
        for (int h = 0; h < shares.extent(1); ++h) sum += static_cast<double>(shares(0, h, from, to));
        return sum / static_cast<double>(shares.extent(1));
    };
    std::vector<int> degree(members);
    std::vector<picture::drawn_edge> edges;
    for (auto const& [a, b] : karate_club::friendships) {
        edges.push_back({a - 1, b - 1, paid(a - 1, b - 1), paid(b - 1, a - 1)});
        ++degree[static_cast<std::size_t>(a - 1)], ++degree[static_cast<std::size_t>(b - 1)];
    }
    auto const wrong = misplaced(scores);
    std::vector<picture::drawn_node> nodes;
    for (int i = 0; i < members; ++i)
        nodes.push_back({std::to_string(i + 1), scores(i, 0) > scores(i, 1), paid(i, i),
                         degree[static_cast<std::size_t>(i)], std::count(wrong.begin(), wrong.end(), i + 1) > 0});
    picture::save_graph(path, "The karate club as a graph attention network sees it",
                        "Learned from the labels of 1, the instructor, and 34, the officer. Attention of the second "
                        "layer, mean of four heads.",
                        nodes, edges, "classified with the instructor", "classified with the officer");
    std::printf("drawn in %s\n", path.c_str());
}

}  // namespace

int main(int count, char** arguments) {
    session run(count, arguments);
    int const epochs = 40;  // a short run is a whole one
    std::printf("graph attention on the karate club: 34 members, 2 labels, %d epochs, seed %u\n", epochs, run.seed());

    dice random(run.seed());
    auto const graph = friends_and_self();
    matrix const x = matrix::Identity(members, members);  // a member has no features but who it is
    graph_attention_network network(random, graph, members, 8, 2);
    adam optimizer(network);
    learning_curve curve{"two labels", {}, {}};

    //! [loop]
    for (int epoch = 0; epoch < epochs; ++epoch) {
        auto const [value, gradient] = cross_entropy(network(x), known_sides());
        run.note(curve, epoch, value);
        network.backward(x, gradient);
        optimizer.step(0.01f);
    }
    //! [loop]

    fovea::tensor<float, 4> shares({1, 4, members, members});
    matrix const scores = network(x, fovea::weights(shares));
    auto const wrong = misplaced(scores);
    std::printf("%zu of 34 members are classified as the club split", members - wrong.size());
    for (int const member : wrong) std::printf(", not %d", member);
    std::puts("");
    run.expect(curve.losses.back() < curve.losses.front() / 4, "the loss falls to less than a quarter");
    run.expect(wrong.size() <= 2, "at most two members are misplaced");
    draw(shares, scores, run.picture("karate_club"));
    save_curves(run.picture("karate_club_loss"), "Graph attention on the karate club",
                "Cross entropy of the two members whose side is known", {curve});
    return run.exit_status();
}
