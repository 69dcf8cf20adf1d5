// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/score/alibi.hpp>

#include "catch.hpp"
#include "score/rescoring.hpp"

#include <cmath>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("alibi lowers scores with distance", "[score]") {
    //! [example]
    auto const slopes = alibi_slopes(8);  // 1/2, 1/4, ... 1/256
    auto const linear = alibi(slopes);
    //! [example]
    for (std::size_t h = 0; h < 8; ++h) CHECK(slopes[h] == std::ldexp(1.0f, -static_cast<int>(h) - 1));
    CHECK(rescored_to(linear, 3, 0, 1, 10, 6) == 3 - 4 * 0.25);
}

TEST_CASE("both conventions agree where the number of heads is a power of two", "[score]") {
    for (index_t heads : {1, 2, 4, 8, 16, 32})
        CHECK(alibi_slopes(heads) == alibi_slopes(heads, alibi_slopes_of::geometric));
}

TEST_CASE("twelve heads: eight slopes, then every other one of sixteen", "[score]") {
    auto const mixed = alibi_slopes(12), eight = alibi_slopes(8), sixteen = alibi_slopes(16);
    for (std::size_t h = 0; h < 8; ++h) CHECK(mixed[h] == eight[h]);
    for (std::size_t h = 0; h < 4; ++h) CHECK(mixed[8 + h] == sixteen[2 * h]);
    CHECK(alibi_slopes(12, alibi_slopes_of::geometric)[11] == Approx(std::exp2(-8)));
}
