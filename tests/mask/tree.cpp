// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/packed_bits.hpp>
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
    tensor<std::uint8_t, 2> packed({6, 1});
    for (index_t i = 0; i < 6; ++i)
        for (index_t j = 0; j < 6; ++j) packed(i, 0) |= static_cast<std::uint8_t>(ancestors(i, j) << j);
    for (index_t i = 0; i < 6; ++i)
        for (index_t j = 0; j < 10; ++j) {
            bool expected = j < 4;
            for (index_t up = i; up >= 0; up = parents[static_cast<std::size_t>(up)])
                expected = expected || j - 4 == up;
            reference::index_environment<double> const at{{}, 0, 0, i, j, 6, 10, 8};
            CHECK(evaluate(mask.predicate(), at) == expected);
            CHECK(evaluate(tree(4, packed_bits(packed, 6)).predicate(), at) == expected);
        }
}

TEST_CASE("the prefix is not masked", "[mask]") {
    std::vector<int> const parents{-1, 0, 1};
    auto const ancestors = tree_ancestors(parents);
    CHECK(bound(tree(64, ancestors).predicate(), box{0, 0, {0, 2}, {0, 63}, 3, 67}).always());
}

TEST_CASE("parents that do not stand before their children are refused", "[mask]") {
    CHECK_THROWS_WITH(tree_ancestors(std::vector<int>{-1, 0, 7}),
                      "tree_ancestors: the parent of node 2 is 7: it must be a node before it, or -1 for a root");
    CHECK_THROWS_AS(tree_ancestors(std::vector<int>{0}), shape_error);
    CHECK_THROWS_AS(tree_ancestors(std::vector<int>{-1, 2, 0}), shape_error);
}
