// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <array>
#include <cmath>
#include <vector>

using namespace fovea;

namespace {

/// Four nodes; node 1 sees nobody, node 2 sees node 0 twice.
std::array<graph::edge, 6> const six_edges{{{0, 0}, {0, 3}, {2, 0}, {2, 1}, {2, 0}, {3, 2}}};

struct nodes {
    testing::dice random{8};
    tensor<double, 2> x = testing::random_tensor<double>(random, std::array<index_t, 2>{4, 3});
    tensor<double, 2> out{{4, 3}, 7}, w{{4, 4}, 7};
    tensor<double, 1> sums{{4}, 7};

    double product(index_t i, index_t j) const {
        double s = 0;
        for (index_t c = 0; c < 3; ++c) s += x(i, c) * x(j, c);
        return std::exp(s);
    }
};

}  // namespace

TEST_CASE("neighbors shows the listed keys and no others", "[mask]") {
    graph const g(4, six_edges);
    nodes n;
    reference::attend(dot | neighbors(g) | softmax | weighted_sum, n.x, n.out, weights(n.w), lse(n.sums));
    double const total = n.product(0, 0) + n.product(0, 3);
    CHECK(n.w(0, 0) == Approx(n.product(0, 0) / total));
    CHECK(n.w(0, 1) == 0);
    CHECK(n.w(0, 3) == Approx(n.product(0, 3) / total));
    CHECK(n.w(3, 2) == 1);
    for (index_t c = 0; c < 3; ++c) CHECK(n.out(3, c) == n.x(2, c));
}

TEST_CASE("an edge that is listed twice counts twice", "[mask]") {
    graph const g(4, six_edges);
    nodes n;
    reference::attend(dot | neighbors(g) | softmax | weighted_sum, n.x, n.out, weights(n.w));
    double const total = 2 * n.product(2, 0) + n.product(2, 1);
    CHECK(n.w(2, 0) == Approx(2 * n.product(2, 0) / total));
    CHECK(n.out(2, 1) == Approx((2 * n.product(2, 0) * n.x(0, 1) + n.product(2, 1) * n.x(1, 1)) / total));
}

TEST_CASE("a node without edges gets zeros", "[mask]") {
    graph const g(4, six_edges);
    nodes n;
    reference::attend(dot | neighbors(g) | softmax | weighted_sum, n.x, n.out, weights(n.w), lse(n.sums));
    for (index_t c = 0; c < 3; ++c) CHECK(n.out(1, c) == 0);
    for (index_t j = 0; j < 4; ++j) CHECK(n.w(1, j) == 0);
    CHECK(n.sums(1) == excluded<double>);
}

TEST_CASE("a condition narrows the list", "[mask]") {
    graph const g(4, six_edges);
    nodes n;
    reference::attend(dot | neighbors(g) | causal | softmax | weighted_sum, n.x, n.out, weights(n.w));
    CHECK(n.w(0, 0) == 1);
    CHECK(n.w(0, 3) == 0);
    CHECK(describe(neighbors(g)) == "neighbors(4 nodes, 6 edges)");
}

TEST_CASE("a node looks at its neighbours", "[mask]") {
    //! [example]
    std::vector<graph::edge> const edges{{0, 1}, {0, 2}, {1, 0}};  // 0 looks at 1 and 2, 1 at 0
    graph const g(3, edges);
    tensor<float, 2> x({3, 1}), result({3, 1});
    x.elements = {0, 2, 4};
    attend(dot | neighbors(g) | softmax | weighted_sum, x, result);
    // node 0 has score 0 for both neighbours: their mean; node 2 looks at nobody
    //! [example]
    CHECK(result(0, 0) == Approx(3));
    CHECK(result(1, 0) == Approx(0));
    CHECK(result(2, 0) == 0);
}
