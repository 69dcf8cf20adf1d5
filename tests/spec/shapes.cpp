// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/tensor.hpp>
#include <fovea/spec/shapes.hpp>

#include "catch.hpp"

using namespace fovea;

TEST_CASE("views of rank 2 and 3 have the axes that are missing", "[spec]") {
    tensor<float, 3> t({2, 3, 4});
    auto const four = as_heads(t.view());
    CHECK(four.extents == extents_t<4>{2, 1, 3, 4});
    CHECK(&four(1, 0, 2, 3) == &t(1, 2, 3));
    tensor<float, 2> m({3, 4});
    CHECK(&as_heads(m.view())(0, 0, 2, 3) == &m(2, 3));
}

TEST_CASE("heads are cut out of the features without a copy", "[spec]") {
    tensor<float, 3> t({2, 3, 8});
    auto const heads = split_heads(as_heads(t.view()), 4, "query");
    CHECK(heads.extents == extents_t<4>{2, 4, 3, 2});
    for (index_t h = 0; h < 4; ++h)
        for (index_t c = 0; c < 2; ++c) CHECK(&heads(1, h, 2, c) == &t(1, 2, 2 * h + c));
    CHECK_THROWS_WITH(split_heads(as_heads(t.view()), 3, "query"),
                      "query has 8 features, not a multiple of its 3 heads");
}
