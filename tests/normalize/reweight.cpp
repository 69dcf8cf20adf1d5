// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/driver/explain.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/hardmax.hpp>
#include <fovea/normalize/reweight.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/against_reference.hpp>

#include "catch.hpp"
#include "support/fused.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("reweighted attention is what the definition says", "[normalize]") {
    check_fused<float>(scaled_dot | causal | softmax | reweight(weight * weight + 0.01 * kv_idx) | weighted_sum);
    check_fused<double>(scaled_dot | causal | hardmax | reweight(weight + head) | weighted_sum);
}

TEST_CASE("a factor of the weight streams and is what the definition says", "[normalize]") {
    auto const gated = scaled_dot | causal | softmax | reweight(weight * (kv_idx + 1) / (q_idx + 2)) | weighted_sum;
    check_fused<float>(gated);
    tensor<float, 2> const x({3, 2}, 1);
    CHECK(explain(gated, x, x, x).find("streaming") != std::string::npos);
}

TEST_CASE("reweightings pipe one into the other", "[normalize]") {
    tensor<float, 2> const x({3, 2}, 1);
    tensor<float, 2> once({3, 2}), twice({3, 2});
    attend(dot | softmax | reweight((weight + 1) * 2) | weighted_sum, x, once);
    attend(dot | softmax | reweight(weight + 1) | reweight(weight * 2) | weighted_sum, x, twice);
    CHECK(once.elements == twice.elements);
}

TEST_CASE("a pair that takes no part keeps weight 0", "[normalize]") {
    //! [example]
    tensor<float, 2> const x({2, 1}, 1);
    tensor<float, 2> result({2, 1}), changed({2, 2});
    attend(dot | causal | softmax | reweight(weight + 1) | weighted_sum, x, result, weights(changed));
    // the first query sees one key with weight 1, the second two with 1/2: changed is {2, 0, 1.5, 1.5}
    //! [example]
    CHECK(changed.elements == std::vector<float>{2, 0, 1.5f, 1.5f});
    CHECK(result.elements == std::vector<float>{2, 3});
}

TEST_CASE("edges are reweighted by their number", "[normalize]") {
    std::vector<graph::edge> edges{{0, 1}, {1, 0}, {1, 1}};
    std::vector<float> gate{3, 4, 6};
    SECTION("given query by query") {}
    SECTION("given in another order") {
        std::rotate(edges.begin(), edges.begin() + 1, edges.end());
        std::rotate(gate.begin(), gate.begin() + 1, gate.end());
    }
    graph const g(2, edges);
    tensor<float, 2> const x({2, 1}, 1);
    tensor<float, 2> result({2, 1}), expected({2, 1});
    auto const gated = dot | neighbors(g) | softmax | reweight(weight * param(gate)[edge]) | weighted_sum;
    attend(gated, x, result);
    reference::attend(gated, x, expected);
    CHECK(result.elements == std::vector<float>{3, 5});
    CHECK(expected.elements == result.elements);
}

TEST_CASE("the log-sum-exp is that of the normalizer", "[normalize]") {
    tensor<float, 2> const x({2, 1}, 1);
    tensor<float, 2> result({2, 1});
    tensor<float, 1> plain({2}), changed({2});
    attend(dot | softmax | weighted_sum, x, result, lse(plain));
    attend(dot | softmax | reweight(weight * 3) | weighted_sum, x, result, lse(changed));
    CHECK(plain(0) == Approx(changed(0)));
}
