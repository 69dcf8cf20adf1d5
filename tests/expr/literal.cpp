// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/expr/literal.hpp>

#include "catch.hpp"

#include <cstdint>
#include <limits>

using namespace fovea;

TEST_CASE("whole numbers are integers of the language, others stay what they are", "[expr]") {
    STATIC_REQUIRE(std::is_same_v<decltype(as_expression(std::uint8_t{3})), literal<index_t>>);
    STATIC_REQUIRE(std::is_same_v<decltype(as_expression(2.f)), literal<float>>);
    STATIC_REQUIRE(std::is_same_v<decltype(as_expression(true)), literal<bool>>);
    STATIC_REQUIRE(as_expression(std::uint8_t{255}).value == 255);
    STATIC_REQUIRE(as_expression(std::numeric_limits<std::uint32_t>::max()).value == 4294967295);
}

TEST_CASE("an unsigned number beyond the integers of the language is refused", "[expr]") {
    auto const largest = static_cast<std::uint64_t>(std::numeric_limits<index_t>::max());
    CHECK(as_expression(largest).value == std::numeric_limits<index_t>::max());
    CHECK_THROWS_WITH(as_expression(largest + 1),
                      "an expression holds the unsigned integer 9223372036854775808: integers in expressions are at "
                      "most 2^63 - 1");
    CHECK_THROWS_AS(as_expression(std::numeric_limits<std::uint64_t>::max()), shape_error);
}
