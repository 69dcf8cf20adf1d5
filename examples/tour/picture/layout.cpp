// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "picture/layout.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace picture {
namespace {

using table = std::vector<std::vector<double>>;

/// Steps from every node to every other (Floyd and Warshall).
table graph_distances(std::size_t nodes, std::vector<std::pair<int, int>> const& edges) {
    table steps(nodes, std::vector<double>(nodes, static_cast<double>(nodes)));
    for (std::size_t i = 0; i < nodes; ++i) steps[i][i] = 0;
    for (auto const& [a, b] : edges)
        steps[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] =
            steps[static_cast<std::size_t>(b)][static_cast<std::size_t>(a)] = 1;
    for (std::size_t via = 0; via < nodes; ++via)
        for (auto& row : steps)
            for (std::size_t j = 0; j < nodes; ++j) row[j] = std::min(row[j], row[via] + steps[via][j]);
    return steps;
}

/// Where the other nodes would like node i to be: at its graph distance from each, near ones counting most.
point wanted(std::size_t i, std::vector<point> const& at, table const& steps) {
    double x = 0, y = 0, total = 0;
    for (std::size_t j = 0; j < at.size(); ++j) {
        if (j == i) continue;
        double const dx = at[i].x - at[j].x, dy = at[i].y - at[j].y;
        double const stretch = steps[i][j] / std::max(std::hypot(dx, dy), 1e-9);
        double const weight = 1 / (steps[i][j] * steps[i][j]);
        x += weight * (at[j].x + dx * stretch);
        y += weight * (at[j].y + dy * stretch);
        total += weight;
    }
    return {x / total, y / total};
}

void fit(std::vector<point>& at, double width, double height) {
    auto const [left, right] = std::minmax_element(at.begin(), at.end(), [](auto a, auto b) { return a.x < b.x; });
    auto const [top, bottom] = std::minmax_element(at.begin(), at.end(), [](auto a, auto b) { return a.y < b.y; });
    double const x = left->x, y = top->y, across = right->x - x, down = bottom->y - y;
    for (auto& p : at) p = {(p.x - x) / across * width, (p.y - y) / down * height};
}

/// Moves nodes that are closer than `space` apart, both by the same way.
void part(std::vector<point>& at, double space) {
    for (int round = 0; round < 50; ++round)
        for (std::size_t i = 0; i < at.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) {
                double const dx = at[i].x - at[j].x, dy = at[i].y - at[j].y, length = std::hypot(dx, dy);
                if (length >= space) continue;
                double const push = (space - length) / 2 / std::max(length, 1e-9);
                at[i] = {at[i].x + dx * push, at[i].y + dy * push};
                at[j] = {at[j].x - dx * push, at[j].y - dy * push};
            }
}

}  // namespace

std::vector<point> layout(int nodes, std::vector<std::pair<int, int>> const& edges, double width, double height) {
    auto const count = static_cast<std::size_t>(nodes);
    table const steps = graph_distances(count, edges);
    std::vector<point> at;
    for (std::size_t i = 0; i < count; ++i) {
        double const angle = 2 * std::numbers::pi * static_cast<double>(i) / nodes;
        at.push_back({std::cos(angle) * 3, std::sin(angle) * 3});
    }
    for (int round = 0; round < 400; ++round)
        for (std::size_t i = 0; i < count; ++i) at[i] = wanted(i, at, steps);
    fit(at, width, height);
    part(at, 66);
    return at;
}

}  // namespace picture
