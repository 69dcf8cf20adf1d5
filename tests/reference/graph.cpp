// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graph attention by its formula, on a graph that fits on paper.
#include <fovea/aggregate/concat_heads.hpp>
#include <fovea/aggregate/map.hpp>
#include <fovea/aggregate/mean_heads.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/gat_score.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <array>
#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// A path 0 - 1 - 2 with a loop at each node; two heads of two features.
std::array<graph::edge, 7> const edges{{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 1}, {2, 2}}};

struct path {
    testing::dice random{21};
    tensor<double, 2> x = testing::random_tensor<double>(random, std::array<index_t, 2>{3, 4});
    tensor<double, 2> w = testing::random_tensor<double>(random, std::array<index_t, 2>{4, 4});
    tensor<double, 2> target = testing::random_tensor<double>(random, std::array<index_t, 2>{2, 2});
    tensor<double, 2> source = testing::random_tensor<double>(random, std::array<index_t, 2>{2, 2});

    double hidden(index_t node, index_t h, index_t c) const {
        double y = 0;
        for (index_t i = 0; i < 4; ++i) y += x(node, i) * w(i, 2 * h + c);
        return y;
    }
    double weight(index_t i, index_t j, index_t h) const {
        double s = 0;
        for (index_t c = 0; c < 2; ++c) s += target(h, c) * hidden(i, h, c) + source(h, c) * hidden(j, h, c);
        return std::exp(s > 0 ? s : 0.25 * s);
    }
    double by_formula(index_t i, index_t h, index_t c) const {
        double sum = 0, total = 0;
        for (auto const& e : edges)
            if (e.to == i) {
                sum += weight(i, e.from, h) * hidden(e.from, h, c);
                total += weight(i, e.from, h);
            }
        return sum / total;
    }
};

}  // namespace

TEST_CASE("graph attention follows its formula", "[reference]") {
    path const p;
    graph const g(3, edges);
    auto const gat =
        project(p.w, p.w, p.w, heads<2>) | gat_score(p.target, p.source, 0.25) | neighbors(g) | softmax | weighted_sum;
    tensor<double, 2> joined({3, 4}), mean({3, 2});
    reference::attend(gat | concat_heads | map(elu(out)), p.x, joined);
    reference::attend(gat | mean_heads | map(elu(out)), p.x, mean);
    auto const elu_of = [](double y) { return y > 0 ? y : std::expm1(y); };
    for (index_t i = 0; i < 3; ++i)
        for (index_t c = 0; c < 2; ++c) {
            for (index_t h = 0; h < 2; ++h) CHECK(joined(i, 2 * h + c) == Approx(elu_of(p.by_formula(i, h, c))));
            CHECK(mean(i, c) == Approx(elu_of((p.by_formula(i, 0, c) + p.by_formula(i, 1, c)) / 2)));
        }
}

TEST_CASE("a full list of neighbours is no mask", "[reference]") {
    path const p;
    std::vector<graph::edge> all;
    for (index_t i = 0; i < 3; ++i)
        for (index_t j = 0; j < 3; ++j) all.push_back({i, j});
    graph const g(3, all);
    auto const scored = project(p.w, p.w, p.w, heads<2>) | gat_score(p.target, p.source);
    tensor<double, 2> listed({3, 4}), dense({3, 4});
    reference::attend(scored | neighbors(g) | softmax | weighted_sum, p.x, listed);
    reference::attend(scored | softmax | weighted_sum, p.x, dense);
    CHECK(listed.elements == dense.elements);
}
