// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/tensor.hpp>
#include <fovea/score/gatv2_score.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

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
