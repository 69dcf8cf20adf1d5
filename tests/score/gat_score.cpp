// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/tensor.hpp>
#include <fovea/score/gat_score.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

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
