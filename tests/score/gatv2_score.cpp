// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/gatv2_score.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

#include <cmath>
#include <vector>

using namespace fovea;

TEST_CASE("gatv2_score bends inside the sum", "[score]") {
    testing::dice random(4);
    auto const a = testing::random_tensor<double>(random, std::array<index_t, 2>{4, 6});
    testing::check_score_formula(
        gatv2_score(a, 0.125),
        [&](auto q, auto k, auto const& at) {
            double s = 0;
            for (index_t c = 0; c < 6; ++c) {
                auto const x = q[static_cast<std::size_t>(c)] + k[static_cast<std::size_t>(c)];
                s += a(at.head, c) * (x > 0 ? x : 0.125 * x);
            }
            return s;
        },
        6);
    testing::check_score_laws(gatv2_score(a), 6);
}

TEST_CASE("query and key meet before the activation", "[score]") {
    //! [example]
    tensor<float, 2> a({1, 1}, 2), x({3, 1}), result({3, 1});  // one head of one feature
    x.elements = {0, 1, -5};
    std::vector<graph::edge> const edges{{0, 1}, {0, 2}};
    graph const g(3, edges);
    attend(gatv2_score(a, 0.2f) | neighbors(g) | softmax | weighted_sum, x, result);
    // the scores of node 0 are 2 * 1 and 2 * 0.2 * -5
    //! [example]
    CHECK(result(0, 0) == Approx((std::exp(2) - 5 * std::exp(-2)) / (std::exp(2) + std::exp(-2))));
}
