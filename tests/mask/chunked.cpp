// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/mask/chunked.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("chunked shows the keys of the query's own chunk", "[mask]") {
    testing::check_mask_laws(chunked(5));
    testing::check_mask_laws(chunked(1));
    testing::check_mask_laws(chunked(0));
}

TEST_CASE("tiles within and between chunks are settled", "[mask]") {
    //! [example]
    auto const mask = chunked(16);
    //! [example]
    CHECK(bound(mask.predicate(), box{0, 0, {16, 31}, {16, 31}, 64, 64}).always());
    CHECK(bound(mask.predicate(), box{0, 0, {16, 31}, {32, 63}, 64, 64}).never());
    CHECK(bound(mask.predicate(), box{0, 0, {16, 31}, {8, 20}, 64, 64}) == truth{});
}
