// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/spec/headwise.hpp>

#include "catch.hpp"

using namespace fovea;

TEST_CASE("query heads share key/value heads in groups", "[spec]") {
    STATIC_REQUIRE(heads<32, 8>.group == 4);
    STATIC_REQUIRE(heads<8>.group == 1);
    STATIC_REQUIRE(heads<32, 1>.key_value == 1);
}
