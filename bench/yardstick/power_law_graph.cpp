// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/yardstick/power_law_graph.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace yardstick {
namespace {

using node = std::int32_t;

/// Uniform in [0, 1). The distributions of <random> differ from one standard library to the next; this does not.
double uniform(std::mt19937_64& bits) { return static_cast<double>(bits() >> 11) * 0x1p-53; }

/// The numbers 0 ... nodes - 1 in random order.
std::vector<node> shuffled(node nodes, std::mt19937_64& bits) {
    std::vector<node> order(static_cast<std::size_t>(nodes));
    std::iota(order.begin(), order.end(), node{0});
    for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[static_cast<std::size_t>(uniform(bits) * static_cast<double>(i))]);
    return order;
}

/// Draws nodes with probability proportional to rank^(-steepness), by the inverse of the integral; steepness < 1.
class power_law {
public:
    power_law(node nodes, double steepness, std::mt19937_64& bits)
        : order_(shuffled(nodes, bits)), exponent_(1 / (1 - steepness)) {}

    node operator()(std::mt19937_64& bits) const {
        double const rank = std::pow(uniform(bits), exponent_) * static_cast<double>(order_.size());
        return order_[static_cast<std::size_t>(rank)];
    }

private:
    std::vector<node> order_;
    double exponent_;
};

}  // namespace

fovea::graph power_law_graph(node nodes, std::int32_t edges, std::uint64_t seed) {
    std::mt19937_64 bits(seed);
    power_law const citing(nodes, 0.35, bits), cited(nodes, 0.6, bits);

    std::vector<std::uint64_t> pairs;  // citing in the upper half, cited in the lower: sorting orders by rows
    auto const wanted = static_cast<std::size_t>(edges);
    while (pairs.size() < wanted) {
        while (pairs.size() < wanted) {
            auto const from = citing(bits), to = cited(bits);
            if (from != to) pairs.push_back(static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to));
        }
        std::sort(pairs.begin(), pairs.end());
        pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    }

    std::vector<fovea::graph::edge> list;
    for (auto const pair : pairs)
        list.push_back({static_cast<fovea::index_t>(pair >> 32), static_cast<fovea::index_t>(pair & 0xffffffff)});
    return {nodes, list};
}

}  // namespace yardstick
