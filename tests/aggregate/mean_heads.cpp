// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/concat_heads.hpp>
#include <fovea/aggregate/mean_heads.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/score/dot.hpp>

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

TEST_CASE("heads are averaged", "[aggregate]") {
    //! [example]
    tensor<float, 2> x({1, 4}), result({1, 2});
    x.elements = {1, 2, 3, 4};
    attend(project(as_is, as_is, as_is, heads<2>) | dot | softmax | weighted_sum | mean_heads, x, result);
    // the mean of (1, 2) and (3, 4)
    //! [example]
    CHECK(result.elements == std::vector<float>{2, 3});
}
