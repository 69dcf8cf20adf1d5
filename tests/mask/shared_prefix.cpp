// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/mask/shared_prefix.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("sequences see the prefix and themselves", "[mask]") {
    //! [example]
    std::vector<int> const ids{0, 0, 0, 1, 1, 2};  // three sequences of 3, 2 and 1 tokens
    auto const mask = shared_prefix(4, ids);       // behind a prefix of four tokens
    //! [example]
    testing::check_mask_laws(mask, testing::lengths{6, 10, 1, 1});
    for (index_t i = 0; i < 6; ++i)
        for (index_t j = 0; j < 10; ++j) {
            auto const id = [&](index_t p) { return ids[static_cast<std::size_t>(p)]; };
            reference::index_environment<double> const at{{}, 0, 0, i, j, 6, 10, 8};
            CHECK(evaluate(mask.predicate(), at) == (j < 4 || (id(i) == id(j - 4) && j - 4 <= i)));
        }
}

TEST_CASE("a shared prefix is not masked", "[mask]") {
    std::vector<int> const ids(8, 0);
    CHECK(bound(shared_prefix(64, ids).predicate(), box{0, 0, {0, 7}, {0, 63}, 8, 72}).always());
}
