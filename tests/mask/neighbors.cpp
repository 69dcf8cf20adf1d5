// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/driver/run/executor.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
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

TEST_CASE("weights of edges are those of the pairs that they list, by the numbers of edges", "[mask]") {
    testing::dice random{9};
    index_t const positions = 17, heads = 3;
    std::vector<graph::edge> edges;  // no two alike, in no order
    for (index_t e = 0; e < 90; ++e) edges.push_back({(e * 29) % positions, (e * 29 / positions + e) % positions});
    std::sort(edges.begin(), edges.end(),
              [](auto const& a, auto const& b) { return std::pair(a.to, a.from) < std::pair(b.to, b.from); });
    auto const alike = [](auto const& a, auto const& b) { return a.to == b.to && a.from == b.from; };
    edges.erase(std::unique(edges.begin(), edges.end(), alike), edges.end());
    std::reverse(edges.begin(), edges.end());
    graph const list(positions, edges);
    auto const count = static_cast<index_t>(edges.size());
    auto const x = testing::random_tensor<float>(random, extents_t<4>{2, heads, positions, 5});
    tensor<float, 4> out(x.extents), pairs({2, heads, positions, positions}), out_again(x.extents);
    tensor<float, 3> of_edges({2, heads, count}, 7), by_definition({2, heads, count}, 7);
    auto const check = [&](auto const& spec) {
        attend(spec, x, out, weights(pairs));
        attend(threads(3), spec, x, out_again, weights(of_edges));
        reference::attend(spec, x, out_again, weights(by_definition));
        for (index_t b = 0; b < 2; ++b)
            for (index_t h = 0; h < heads; ++h)
                for (index_t e = 0; e < count; ++e) {
                    auto const [to, from] = edges[static_cast<std::size_t>(e)];
                    CHECK(of_edges(b, h, e) == pairs(b, h, to, from));
                    CHECK(by_definition(b, h, e) == Approx(pairs(b, h, to, from)).margin(1e-6));
                }
    };
    check(dot | neighbors(list) | softmax | weighted_sum);
    check(dot | neighbors(list) | causal | softmax | weighted_sum);

    nodes n;  // an edge that is listed twice has its weight twice
    graph const twice(4, six_edges);
    tensor<double, 1> each({6}, 7);
    attend(dot | neighbors(twice) | softmax | weighted_sum, n.x, n.out, weights(each));
    CHECK(each(2) == each(4));
    CHECK(2 * each(2) + each(3) == Approx(1));
    CHECK(each(5) == 1);
    tensor<double, 1> few({5});
    CHECK_THROWS_WITH(attend(dot | neighbors(twice) | softmax | weighted_sum, n.x, n.out, weights(few)),
                      Catch::Matchers::ContainsSubstring("(1, 1, 6), (batch, head, edge)"));
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
