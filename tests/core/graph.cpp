// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/graph.hpp>

#include "catch.hpp"

#include <array>
#include <vector>

using namespace fovea;

TEST_CASE("a graph lists for each query its keys in the order of the edges", "[core]") {
    std::array<graph::edge, 5> const edges{{{2, 0}, {0, 1}, {2, 3}, {0, 0}, {2, 0}}};
    graph const g(3, edges);
    auto const v = g.view();
    CHECK(v.queries() == 3);
    CHECK(v.edges() == 5);
    auto const keys = [&](index_t i) { return std::vector<std::int32_t>(v.of(i).begin(), v.of(i).end()); };
    CHECK(keys(0) == std::vector<std::int32_t>{1, 0});
    CHECK(keys(1).empty());
    CHECK(keys(2) == std::vector<std::int32_t>{0, 3, 0});
    CHECK_NOTHROW(v.check(3, 4));
}

TEST_CASE("what is wrong with a graph is said", "[core]") {
    std::vector<index_t> const offsets{0, 2, 3};
    std::vector<std::int32_t> const keys{0, 4, 1};
    graph_view const g{offsets, keys};
    CHECK_THROWS_WITH(g.check(3, 5), "graph: it has rows for 2 queries, the attention has 3");
    CHECK_THROWS_WITH(g.check(2, 4), "graph: edge 1 leads to key 4, there are 4 keys");
    CHECK_NOTHROW(g.check(2, 5));

    std::vector<index_t> const descending{0, 3, 2};
    CHECK_THROWS_WITH((graph_view{descending, keys}.check(2, 5)),
                      "graph: offsets run from 0 to 2, they must run from 0 to the number of edges, 3");
    std::vector<index_t> const unordered{0, 2, 1, 3};
    CHECK_THROWS_WITH((graph_view{unordered, keys}.check(3, 5)),
                      "graph: offset 2 is 1, less than the one before it, 2");
    std::array<graph::edge, 1> const outside{{{3, 0}}};
    CHECK_THROWS_WITH((graph(3, outside)), "graph: an edge ends at query 3, there are 3 queries");
    CHECK_THROWS_WITH((graph(-2, outside)), "graph: it has -2 queries, it must have 0 or more");
    std::array<graph::edge, 1> const before{{{1, -1}}}, beyond{{{1, index_t{1} << 31}}};
    CHECK_THROWS_WITH((graph(3, before)), "graph: an edge begins at key -1, keys are from 0 to 2147483647");
    CHECK_THROWS_WITH((graph(3, beyond)), "graph: an edge begins at key 2147483648, keys are from 0 to 2147483647");
}

TEST_CASE("edges are numbered as they are given", "[core]") {
    graph::edge const unsorted[] = {{2, 0}, {0, 1}, {2, 1}, {0, 2}, {1, 0}};
    graph const g(3, unsorted);
    auto const view = g.view();
    for (index_t query = 0; query < 3; ++query)
        for (index_t place = view.offsets[static_cast<std::size_t>(query)];
             place < view.offsets[static_cast<std::size_t>(query) + 1]; ++place) {
            auto const& given = unsorted[view.number(place)];
            CHECK(given.to == query);
            CHECK(given.from == view.keys[static_cast<std::size_t>(place)]);
        }
    graph::edge const sorted[] = {{0, 1}, {0, 0}, {2, 1}};
    graph const in_order(3, sorted);
    CHECK(in_order.view().numbers.empty());
    CHECK(in_order.view().number(2) == 2);
}

TEST_CASE("numbers of edges that do not fit the edges are refused", "[core]") {
    graph::edge const edges[] = {{1, 0}, {0, 1}, {1, 1}};
    graph const g(2, edges);
    std::vector<index_t> const wrong[] = {{0, 1}, {0, 1, 2, 0}, {0, 3, 1}, {0, -1, 1}};
    for (auto const& numbers : wrong) {
        auto view = g.view();
        view.numbers = numbers;
        CHECK_THROWS_AS(view.check(2, 2), graph_error);
    }
    CHECK_NOTHROW(g.view().check(2, 2));
}
