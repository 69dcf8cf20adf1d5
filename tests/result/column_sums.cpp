// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "output_case.hpp"

#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/result/column_sums.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>

#include "catch.hpp"

using namespace fovea;

TEST_CASE("column sums are what the definition says", "[result]") {
    output_case subject;
    subject.check<float, 3>(scaled_dot | causal | softmax | weighted_sum, {2, 4, 33},
                            [](auto& t) { return column_sums(t); });
}

TEST_CASE("all weight that queries give is received by keys", "[result]") {
    //! [example]
    tensor<float, 2> const x({2, 1}, 0);
    tensor<float, 2> result({2, 1});
    tensor<float, 1> received({2});
    attend(dot | causal | softmax | weighted_sum, x, result, column_sums(received));
    // the first query gives 1 to the first key, the second 1/2 to each: received is {1.5, 0.5}
    //! [example]
    CHECK(received.elements == std::vector<float>{1.5f, 0.5f});
}

TEST_CASE("edges that end at one key add up", "[result]") {
    std::vector<graph::edge> const edges{{0, 1}, {1, 1}, {2, 1}, {2, 0}};
    graph const g(3, edges);
    tensor<float, 2> const x({3, 1}, 0);
    tensor<float, 2> result({3, 1});
    tensor<float, 1> received({3});
    attend(threads(2), dot | neighbors(g) | softmax | weighted_sum, x, result, column_sums(received));
    CHECK(received.elements == std::vector<float>{0.5f, 2.5f, 0});
}
