// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of errors: numbers, extents, and counts with their nouns.
#include "catch.hpp"

#include <fovea/core/errors.hpp>
#include <fovea/core/messages.hpp>

#include <cstdint>
#include <limits>

using fovea::detail::counted;
using fovea::detail::message_of;
using fovea::detail::there_are;

TEST_CASE("a count has its noun in the number that it needs", "[core]") {
    CHECK(message_of({counted(1, "axis"), ", ", counted(2, "axis")}) == "1 axis, 2 axes");
    CHECK(message_of({counted(0, "element"), ", ", counted(1, "batch element")}) == "0 elements, 1 batch element");
    CHECK(message_of({counted(std::size_t{3}, "query"), ", ", counted(1u, "query")}) == "3 queries, 1 query");
    CHECK(message_of({counted(-1, "entry")}) == "-1 entries");
    CHECK(message_of({counted(std::numeric_limits<std::int64_t>::min(), "key")}) == "-9223372036854775808 keys");
    CHECK(message_of({there_are(1, "key"), ", ", there_are(5, "key")}) == "there is 1 key, there are 5 keys");
    CHECK(message_of({there_are(1, "edge"), ", ", there_are(0, "frequency")})
          == "there is 1 edge, there are 0 frequencies");
}
