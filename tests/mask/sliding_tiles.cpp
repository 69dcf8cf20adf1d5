// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/mask/sliding_tiles.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("sliding_tiles keeps the laws of a mask", "[mask]") {
    testing::check_mask_laws(sliding_tiles({3, 1}, {2, 2}, {6, 4}), testing::lengths{24, 24, 1, 1});
    testing::check_mask_laws(sliding_tiles({2, 1, 2}, {1, 2, 2}, {3, 2, 4}), testing::lengths{24, 24, 1, 1});
}

TEST_CASE("pairs of two tiles are all seen or none", "[mask]") {
    //! [example]
    auto const mask = sliding_tiles({3, 3}, {4, 4}, {32, 32});  // 3 by 3 tiles of 16 places
    //! [example]
    index_t seen = 0;
    for (index_t tile = 0; tile < 64; ++tile) {
        truth const all = bound(mask.predicate(), box{0, 0, {0, 15}, {16 * tile, 16 * tile + 15}, 1024, 1024});
        CHECK((all.always() || all.never()));
        seen += all.always();
    }
    CHECK(seen == 9);
}

TEST_CASE("extents that tiles do not fill are refused", "[mask]") {
    CHECK_THROWS_WITH(sliding_tiles({3, 3}, {4, 4}, {32, 30}),
                      "sliding_tiles: along axis 1 there are 30 places in tiles of 4: the extent must be a multiple of "
                      "the tile");
    CHECK_THROWS_WITH(sliding_tiles({3, 0}, {4, 4}, {32, 32}), "sliding_tiles: a window is 0, it must be 1 or more");
    CHECK_THROWS_AS(sliding_tiles({3, 3}, {0, 4}, {32, 32}), shape_error);
    CHECK_THROWS_AS(sliding_tiles({3, 3}, {4, -4}, {32, 32}), shape_error);
    CHECK_THROWS_AS(sliding_tiles({1, 1, 1}, {2, 2, 2}, {5, 4, 4}), shape_error);
    CHECK_THROWS_AS(sliding_tiles({1, 1}, {2, 2}, {-4, 4}), shape_error);
}
