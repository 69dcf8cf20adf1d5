// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/concat_heads.hpp>
#include <fovea/aggregate/mean_heads.hpp>

#include "catch.hpp"
#include "heads_case.hpp"

using namespace fovea;

TEST_CASE("mean_heads averages the heads", "[aggregate]") {
    heads_case const c;
    auto const out = c.finished(by_heads | mean_heads, 2);
    for (index_t b = 0; b < 2; ++b)
        for (index_t i = 0; i < 4; ++i)
            for (index_t f = 0; f < 2; ++f)
                CHECK(out(b, i, f)
                      == Approx((c.by_head(b, 0, i, f) + c.by_head(b, 1, i, f) + c.by_head(b, 2, i, f)) / 3));
}

TEST_CASE("heads that lie side by side already are one", "[aggregate]") {
    heads_case const c;
    CHECK(c.finished(by_heads | concat_heads | mean_heads, 6).elements
          == c.finished(by_heads | concat_heads, 6).elements);
}
