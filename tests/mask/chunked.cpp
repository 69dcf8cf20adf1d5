// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/mask/chunked.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <stdexcept>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("chunked shows the keys of the query's own chunk", "[mask]") {
    testing::check_mask_laws(chunked(5));
    testing::check_mask_laws(chunked(1));
}

TEST_CASE("chunks without positions are refused", "[mask]") {
    CHECK_THROWS_AS(chunked(0), std::invalid_argument);
    CHECK_THROWS_WITH(chunked(0), "chunked: size is 0, it must be 1 or more");
    CHECK_THROWS_WITH(chunked(-4), "chunked: size is -4, it must be 1 or more");
}

TEST_CASE("tiles within and between chunks are settled", "[mask]") {
    //! [example]
    auto const mask = chunked(16);
    //! [example]
    CHECK(bound(mask.predicate(), box{0, 0, {16, 31}, {16, 31}, 64, 64}).always());
    CHECK(bound(mask.predicate(), box{0, 0, {16, 31}, {32, 63}, 64, 64}).never());
    CHECK(bound(mask.predicate(), box{0, 0, {16, 31}, {8, 20}, 64, 64}) == truth{});
}
