// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

namespace picture {

/// A node of a drawing: its name, which side it is on, what it pays to itself, and whether that side is wrong; a node
/// of many edges is drawn larger.
struct drawn_node {
    std::string name;
    bool first_side;
    double self_weight;
    int degree;
    bool misplaced = false;
};

/// An edge with the attention each end pays to the other.
struct drawn_edge {
    int a, b;             // nodes, numbered from 0
    double a_to_b, b_to_a;
};

/// Writes a graph with attention on it: at each of its ends an edge is as thick and as dark as the attention that the
/// node there pays along it, and the ring around a node is what it pays to itself.
void save_graph(std::string const& path, std::string const& title, std::string const& caption,
                std::vector<drawn_node> const& nodes, std::vector<drawn_edge> const& edges,
                std::string const& first_side, std::string const& second_side);

}  // namespace picture
