// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/mask/tree.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("a node sees the prefix, itself and its ancestors", "[mask]") {
    //! [example]
    std::vector<int> const parents{-1, 0, 0, 1, 1, 2};  // two drafts that branch
    auto const ancestors = tree_ancestors(parents);
    auto const mask = tree(4, ancestors);  // behind a prefix of four tokens
    //! [example]
    testing::check_mask_laws(mask, testing::lengths{6, 10, 1, 1});
    testing::check_mask_laws(mask, testing::lengths{6, 14, 2, 1});
    for (index_t i = 0; i < 6; ++i)
        for (index_t j = 0; j < 10; ++j) {
            bool expected = j < 4;
            for (index_t up = i; up >= 0; up = parents[static_cast<std::size_t>(up)])
                expected = expected || j - 4 == up;
            reference::index_environment<double> const at{{}, 0, 0, i, j, 6, 10, 8};
            CHECK(evaluate(mask.predicate(), at) == expected);
        }
}

TEST_CASE("the prefix is not masked", "[mask]") {
    std::vector<int> const parents{-1, 0, 1};
    auto const ancestors = tree_ancestors(parents);
    CHECK(bound(tree(64, ancestors).predicate(), box{0, 0, {0, 2}, {0, 63}, 3, 67}).always());
}
