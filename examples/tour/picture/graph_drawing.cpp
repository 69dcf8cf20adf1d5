// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "picture/graph_drawing.hpp"

#include "picture/layout.hpp"
#include "picture/svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace picture {
namespace {

constexpr double width = 1120, height = 860, margin = 32, heading = 110, footing = 110, thickest = 17;
constexpr colour first_colour{232, 150, 60}, second_colour{86, 160, 190}, edge_colour{24, 52, 120}, wrong_colour{200, 30, 50};

double thickness(double weight) { return 0.7 + thickest * weight; }
double radius(drawn_node const& node) { return 9 + 2.6 * std::sqrt(static_cast<double>(node.degree)); }

colour shade(double weight) { return mix({184, 192, 208}, edge_colour, std::sqrt(weight)); }

void draw_edge(svg& drawing, point a, point b, double a_to_b, double b_to_a) {
    drawing.band(a, b, thickness(a_to_b), thickness(b_to_a), shade(a_to_b), shade(b_to_a));
}

void draw_node(svg& drawing, point at, drawn_node const& node) {
    colour const fill = node.first_side ? first_colour : second_colour;
    double const ring = thickness(node.self_weight) / 2, core = radius(node);
    if (node.misplaced) drawing.circle(at, core + ring + 6, wrong_colour);
    drawing.circle(at, core + ring + 1.6, edge_colour, paper, 1.5);
    drawing.circle(at, core + 1.6, paper);
    drawing.circle(at, core, fill);
    drawing.text({at.x, at.y + 4.5}, node.name, {.size = 12.5, .anchor = "middle", .bold = true});
}

void draw_legend(svg& drawing, std::string const& first_side, std::string const& second_side, bool any_misplaced) {
    double const y = height - 48;
    drawing.circle({margin + 10, y}, 10, first_colour);
    drawing.text({margin + 28, y + 5}, first_side, {.fill = quiet});
    drawing.circle({margin + 10, y + 26}, 10, second_colour);
    drawing.text({margin + 28, y + 31}, second_side, {.fill = quiet});
    double const x = margin + 270;
    for (int i = 0; i < 4; ++i) {
        double const weight = std::array{0.05, 0.2, 0.5, 0.8}[static_cast<std::size_t>(i)];
        draw_edge(drawing, {x + 80.0 * i, y}, {x + 80.0 * i + 54, y}, weight, weight);
        char label[8];
        std::snprintf(label, sizeof label, ".%02d", static_cast<int>(100 * weight + 0.5));
        drawing.text({x + 80.0 * i + 27, y + 31}, label, {.size = 12, .fill = quiet, .anchor = "middle"});
    }
    if (any_misplaced) {
        drawing.circle({x + 350, y - 22}, 10, wrong_colour);
        drawing.circle({x + 350, y - 22}, 6, paper);
        drawing.text({x + 368, y - 17}, "on the wrong side", {.fill = quiet});
    }
    drawing.text({x + 340, y + 5}, "an edge is as thick at a node as the attention", {.fill = quiet});
    drawing.text({x + 340, y + 23}, "this node pays along it; the ring is its attention to itself", {.fill = quiet});
}

}  // namespace

void save_graph(std::string const& path, std::string const& title, std::string const& caption,
                std::vector<drawn_node> const& nodes, std::vector<drawn_edge> const& edges,
                std::string const& first_side, std::string const& second_side) {
    std::vector<std::pair<int, int>> ends;
    for (auto const& edge : edges) ends.emplace_back(edge.a, edge.b);
    auto at = layout(static_cast<int>(nodes.size()), ends, width - 2 * margin - 60, height - heading - footing - 50);
    for (auto& p : at) p = {p.x + margin + 30, p.y + heading + 20};

    svg drawing(width, height);
    drawing.text({margin, margin + 14}, title, {.size = 22, .bold = true});
    drawing.text({margin, margin + 38}, caption, {.size = 14, .fill = quiet});

    auto sorted = edges;  // strong edges over weak ones
    std::sort(sorted.begin(), sorted.end(), [](auto const& x, auto const& y) {
        return std::max(x.a_to_b, x.b_to_a) < std::max(y.a_to_b, y.b_to_a);
    });
    for (auto const& edge : sorted) {
        auto const a = static_cast<std::size_t>(edge.a), b = static_cast<std::size_t>(edge.b);
        draw_edge(drawing, at[a], at[b], edge.a_to_b, edge.b_to_a);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) draw_node(drawing, at[i], nodes[i]);
    draw_legend(drawing, first_side, second_side,
                std::any_of(nodes.begin(), nodes.end(), [](auto const& node) { return node.misplaced; }));
    drawing.save(path);
}

}  // namespace picture
