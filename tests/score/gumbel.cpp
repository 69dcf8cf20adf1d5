// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/hardmax.hpp>
#include <fovea/normalize/reweight.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/result/best_key.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/gumbel.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/against_reference.hpp>

#include "catch.hpp"
#include "support/fused.hpp"

#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("noise is the same in the loops and in the definition", "[score]") {
    check_fused_at_all_widths<float>(scaled_dot | gumbel(3) | causal | softmax | weighted_sum);
    check_fused<double>(scaled_dot | gumbel(4) | hardmax | weighted_sum);
    check_fused<float>(scaled_dot | causal | softmax | reweight(select(random(9) < 0.25, 0, weight / 0.75))
                       | weighted_sum);
}

TEST_CASE("noise on edges is that of their pairs", "[score]") {
    std::vector<graph::edge> const edges{{0, 2}, {0, 1}, {1, 0}, {2, 2}, {2, 0}};
    graph const g(3, edges);
    tensor<float, 2> const x({3, 2}, 1);
    tensor<float, 2> result({3, 2}), expected({3, 2});
    tensor<float, 2> got({3, 3}), defined({3, 3});
    auto const noisy = dot | gumbel(5) | neighbors(g) | softmax | weighted_sum;
    attend(noisy, x, result, weights(got));
    reference::attend(noisy, x, expected, weights(defined));
    for (std::size_t i = 0; i < 9; ++i) CHECK(got.elements[i] == Approx(defined.elements[i]));
}

TEST_CASE("noise does not depend on how many threads there are", "[score]") {
    testing::dice dice(3);
    auto const x = testing::random_tensor<float>(dice, std::array<index_t, 4>{2, 3, 70, 8});
    tensor<float, 4> alone(x.extents), shared(x.extents);
    attend(threads(1), scaled_dot | gumbel(8) | causal | hardmax | weighted_sum, x, x, x, alone);
    attend(threads(3), scaled_dot | gumbel(8) | causal | hardmax | weighted_sum, x, x, x, shared);
    CHECK(alone.elements == shared.elements);
}

TEST_CASE("a key is drawn as often as its softmax weight says", "[score]") {
    //! [example]
    index_t const draws = 20000;
    tensor<float, 2> query({draws, 1}, 1), key({3, 1}), value({3, 1}), result({draws, 1});
    key.elements = {0, 1, 2};
    value.elements = {0, 1, 2};
    attend(dot | gumbel(11) | hardmax | weighted_sum, query, key, value, result);
    // result holds the key that each query has drawn: 0, 1 or 2 with weights 0.09, 0.24 and 0.67
    //! [example]
    double drawn[3] = {};
    for (float const chosen : result) drawn[static_cast<int>(chosen)] += 1.0 / static_cast<double>(draws);
    double const sum = 1 + std::exp(1) + std::exp(2);
    for (int j = 0; j < 3; ++j) CHECK(drawn[j] == Approx(std::exp(j) / sum).margin(0.012));
}
