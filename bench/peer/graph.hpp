// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/peer/peer.hpp"

#include <fovea/core/graph.hpp>

namespace bench::peer {

/// A layer of graph attention as its users hold it: the heads of a node side by side, (node, head times feature).
struct graph_request {
    fovea::graph_view graph;
    fovea::tensor<float, 2>& features;
    fovea::tensor<float, 2>& target;  // (head, feature): its product with the features of the node that reads
    fovea::tensor<float, 2>& source;  // and with those of the node that is read
    fovea::tensor<float, 2>& result;
};

/// graph_library: how a peer computes GAT's softmax(leaky_relu(target . h_i + source . h_j)) h_j over edges.
struct graph_library {
    std::string name;
    std::string version;
    std::function<program(graph_request const&)> prepare;
};

inline std::vector<graph_library>& graph_libraries() {
    static std::vector<graph_library> all;
    return all;
}

}  // namespace bench::peer
