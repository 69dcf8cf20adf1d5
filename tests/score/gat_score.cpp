// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/gat_score.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

#include <cmath>
#include <vector>

using namespace fovea;

TEST_CASE("gat_score adds one number of each node, then bends", "[score]") {
    testing::dice random(4);
    auto const target = testing::random_tensor<float>(random, std::array<index_t, 2>{4, 6});
    auto const source = testing::random_tensor<float>(random, std::array<index_t, 2>{4, 6});
    auto const formula = [&](double slope) {
        return [&, slope](auto q, auto k, auto const& at) {
            double s = 0;
            for (index_t c = 0; c < 6; ++c)
                s += static_cast<double>(target(at.head, c)) * q[static_cast<std::size_t>(c)]
                   + static_cast<double>(source(at.head, c)) * k[static_cast<std::size_t>(c)];
            return s > 0 ? s : slope * s;
        };
    };
    testing::check_score_formula(gat_score(target, source, 0.25), formula(0.25), 6);
    testing::check_score_formula(gat_score(target, source), formula(static_cast<double>(0.2f)), 6);
    testing::check_score_laws(gat_score(target, source), 6);
}

TEST_CASE("one number for each node and role", "[score]") {
    //! [example]
    tensor<float, 2> target({1, 1}, 1), source({1, 1}, 1), x({3, 1}), result({3, 1});  // one head of one feature
    x.elements = {0, 1, 3};
    std::vector<graph::edge> const edges{{0, 1}, {0, 2}};
    graph const g(3, edges);
    attend(gat_score(target, source) | neighbors(g) | softmax | weighted_sum, x, result);
    // the scores of node 0 are 1 and 3
    //! [example]
    CHECK(result(0, 0) == Approx((1 * std::exp(1) + 3 * std::exp(3)) / (std::exp(1) + std::exp(3))));
}
