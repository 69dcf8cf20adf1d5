// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/score/scaled_by.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("scaled_by is an inner product times a factor", "[score]") {
    //! [example]
    std::vector<float> const scales{0.5f, 2};
    auto const of_heads = scaled_by(param(scales)[head]);
    //! [example]
    testing::check_score_laws(of_heads, 7, testing::lengths{6, 6, 2, 1});
    testing::check_score_formula(
        of_heads,
        [&](auto query, auto key, auto const& at) {
            double s = 0;
            for (std::size_t c = 0; c < query.size(); ++c) s += query[c] * key[c];
            return s * static_cast<double>(scales[static_cast<std::size_t>(at.head)]);
        },
        7, testing::lengths{6, 6, 2, 1});
}
