// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/compositions.hpp"

TEST_CASE("any parts put together give what the definition says: share 1", "[driver]") {
    compositions::check_share<82, 213>(2);
}
