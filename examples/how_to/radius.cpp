// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention among the neighbours within a radius: as a condition, and as a graph that a cell list makes.
#include "check.hpp"

using namespace fovea;
using namespace fovea::placeholders;
using namespace how_to;

int main() {
    constexpr index_t atoms = 300, heads = 2, features = 16;
    constexpr float radius = 0.4f;
    auto const position = random_tensor<2>({atoms, 3});  // between -1 and 1
    auto const feature = random_tensor<4>({1, heads, atoms, features});
    tensor<float, 4> result(feature.extents), listed(feature.extents);

    //! [condition]
    auto const x = param(position);  // (atom, axis)
    auto const between = square(x(q_idx, 0) - x(kv_idx, 0)) + square(x(q_idx, 1) - x(kv_idx, 1))
                                + square(x(q_idx, 2) - x(kv_idx, 2));
    auto const near = scaled_dot | rescore(score - between);
    attend(near | where(between < radius * radius) | softmax | weighted_sum, feature, result);
    //! [condition]

    auto const squared = [&](index_t i, index_t j) {
        float sum = 0;
        for (index_t c = 0; c < 3; ++c) sum += (position(i, c) - position(j, c)) * (position(i, c) - position(j, c));
        return sum;
    };
    auto const plain = [&](index_t b, index_t h, index_t i, index_t j) {
        double const d = static_cast<double>(squared(i, j));
        return squared(i, j) < radius * radius ? product(feature, feature, b, h, i, j) / 4 - d : minus_infinity;
    };
    require(difference(result, plain_attention(plain, heads, atoms, feature)) < 1e-5f, "atoms see those near them");

    //! [cells]
    // Cubes with sides of at least the radius: the neighbours of an atom are in its own cube, and in those around it.
    auto const cubes = static_cast<index_t>(2 / radius);  // along each axis
    auto const cube = [&](index_t atom, index_t axis) {
        return std::min(static_cast<index_t>((position(atom, axis) + 1) / 2 * static_cast<float>(cubes)), cubes - 1);
    };
    std::vector<std::vector<index_t>> inside(static_cast<std::size_t>(cubes * cubes * cubes));
    auto const atoms_of = [&](index_t i, index_t j, index_t k) -> std::vector<index_t>& {
        return inside[static_cast<std::size_t>((i * cubes + j) * cubes + k)];
    };
    for (index_t a = 0; a < atoms; ++a) atoms_of(cube(a, 0), cube(a, 1), cube(a, 2)).push_back(a);

    std::vector<graph::edge> edges;  // {who looks, at whom}
    auto const around = [&](index_t place) {
        return std::pair(std::max<index_t>(place - 1, 0), std::min(place + 1, cubes - 1));
    };
    for (index_t a = 0; a < atoms; ++a) {
        auto const [i0, i1] = around(cube(a, 0));
        auto const [j0, j1] = around(cube(a, 1));
        auto const [k0, k1] = around(cube(a, 2));
        for (index_t i = i0; i <= i1; ++i)
            for (index_t j = j0; j <= j1; ++j)
                for (index_t k = k0; k <= k1; ++k)
                    for (index_t const other : atoms_of(i, j, k))
                        if (squared(a, other) < radius * radius) edges.push_back({a, other});
    }
    //! [cells]

    //! [graph]
    graph const g(atoms, edges);
    attend(near | neighbors(g) | softmax | weighted_sum, feature, listed);
    //! [graph]
    require(difference(result, listed) < 1e-5f, "the graph has the pairs of the condition");

    //! [explained]
    auto const text = explain(near | where(between < radius * radius) | softmax | weighted_sum, feature);
    require(text.find("slow        the mask decides 0 % of the tiles") != std::string::npos, "no block is skipped");
    //! [explained]
}
