// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/compositions.hpp"

TEST_CASE("any parts put together give what the definition says: number 153", "[driver]") {
    compositions::check<153>();
}
