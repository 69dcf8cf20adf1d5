// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/integer_argument.hpp>

#include "catch.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

using namespace fovea;

namespace {
constexpr index_t taken(integer_argument n) { return n; }
enum plain_enumeration { five = 5 };
}  // namespace

TEMPLATE_TEST_CASE("an integer of any type is taken as it is", "[core]", signed char, short, int, long, long long,
                   unsigned char, unsigned short, unsigned, unsigned long, unsigned long long) {
    using limits = std::numeric_limits<TestType>;
    CHECK(taken(limits::min()) == static_cast<index_t>(limits::min()));
    CHECK(taken(TestType{7}) == 7);
    if constexpr (std::is_signed_v<TestType> || sizeof(TestType) < sizeof(index_t))
        CHECK(taken(limits::max()) == static_cast<index_t>(limits::max()));
    else CHECK_THROWS_AS(taken(limits::max()), shape_error);
}

TEST_CASE("what converts to an integer is taken", "[core]") {
    STATIC_REQUIRE(taken(std::integral_constant<int, 3>{}) == 3);
    STATIC_REQUIRE(taken(five) == 5);
    CHECK_THROWS_WITH(taken(std::uint64_t(1) << 63),
                      "an argument is the unsigned integer 9223372036854775808: it is at most 2^63 - 1");
}
