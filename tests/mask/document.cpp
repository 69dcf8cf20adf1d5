// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/tensor.hpp>
#include <fovea/mask/document.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("document shows a query the keys of its own document", "[mask]") {
    std::vector<int> const ids{0, 0, 0, 1, 1, 2, 2, 2, 2, 7}, others{1, 0, 1, 0, 2};
    testing::check_mask_laws(document(ids), testing::lengths{10, 10, 1, 1});
    testing::check_mask_laws(document(others, ids), testing::lengths{5, 10, 2, 2});
}

TEST_CASE("each sequence of a batch has documents of its own", "[mask]") {
    tensor<int, 2> ids({2, 6});
    ids.elements = {0, 0, 1, 1, 1, 2, /**/ 5, 4, 4, 4, 5, 5};
    auto const mask = document(ids);
    testing::check_mask_laws(mask, testing::lengths{6, 6, 3, 2});
    for (index_t b = 0; b < 2; ++b)
        for (index_t i = 0; i < 6; ++i)
            for (index_t j = 0; j < 6; ++j) {
                reference::index_environment<double> const at{{}, b, 0, i, j, 6, 6, 8};
                CHECK(evaluate(mask.predicate(), at) == (ids(b, i) == ids(b, j)));
            }
}

TEST_CASE("tiles of two documents are settled by the table alone", "[mask]") {
    //! [example]
    std::vector<int> ids(64, 0);  // two documents of 32 tokens
    for (std::size_t i = 32; i < 64; ++i) ids[i] = 1;
    auto const mask = document(ids);
    //! [example]
    CHECK(bound(mask.predicate(), box{0, 0, {0, 31}, {32, 63}, 64, 64}).never());
    CHECK(bound(mask.predicate(), box{0, 0, {32, 63}, {32, 63}, 64, 64}).always());
    CHECK(bound(mask.predicate(), box{0, 0, {0, 63}, {0, 31}, 64, 64}) == truth{});
}
