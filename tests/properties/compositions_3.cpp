// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/compositions.hpp"

TEST_CASE("any parts put together give what the definition says: share 3", "[driver]") {
    compositions::check_share<34, 213>(4);
}
