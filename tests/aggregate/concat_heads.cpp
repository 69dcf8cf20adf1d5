// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/concat_heads.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/score/dot.hpp>

#include "catch.hpp"
#include "heads_case.hpp"

using namespace fovea;

TEST_CASE("concat_heads lays the heads side by side", "[aggregate]") {
    heads_case const c;
    auto const out = c.finished(by_heads | concat_heads, 6);
    for (index_t b = 0; b < 2; ++b)
        for (index_t h = 0; h < 3; ++h)
            for (index_t i = 0; i < 4; ++i)
                for (index_t f = 0; f < 2; ++f) CHECK(out(b, i, 2 * h + f) == c.by_head(b, h, i, f));
}

TEST_CASE("laying side by side twice is laying once", "[aggregate]") {
    heads_case const c;
    CHECK(c.finished(by_heads | concat_heads | concat_heads, 6).elements
          == c.finished(by_heads | concat_heads, 6).elements);
}

TEST_CASE("heads lie side by side", "[aggregate]") {
    //! [example]
    tensor<float, 2> x({1, 4}), result({1, 4});
    x.elements = {1, 2, 3, 4};
    attend(project(as_is, as_is, as_is, heads<2>) | dot | softmax | weighted_sum | concat_heads, x, result);
    // the one position sees itself: its two heads (1, 2) and (3, 4) come back side by side
    //! [example]
    CHECK(result.elements == x.elements);
}
