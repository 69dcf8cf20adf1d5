// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/mask/prefix_lm.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("prefix_lm shows the prefix and what comes before", "[mask]") {
    std::vector<int> const prefixes{2, 9};
    testing::check_mask_laws(prefix_lm(0));
    testing::check_mask_laws(prefix_lm(param(prefixes)[batch]), testing::lengths{12, 20, 1, 2});
    testing::check_mask_laws(prefix_lm(prefixes), testing::lengths{12, 20, 1, 2});
    CHECK(describe(prefix_lm(prefixes)) == describe(prefix_lm(param(prefixes)[batch])));
    auto const of = [](index_t i, interval<index_t> keys) {
        return bound(prefix_lm(8).predicate(), box{0, 0, i, keys, 64, 64});
    };
    CHECK(of(2, {0, 7}).always());
    CHECK(of(2, {8, 63}).never());
    CHECK(of(20, {8, 20}).always());
}

TEST_CASE("the prefix is seen by all", "[mask]") {
    //! [example]
    auto const mask = prefix_lm(3);
    //! [example]
    for (index_t i = 0; i < 6; ++i)
        for (index_t j = 0; j < 6; ++j) {
            reference::index_environment<double> const at{{}, 0, 0, i, j, 6, 6, 8};
            CHECK(evaluate(mask.predicate(), at) == (j < 3 || j <= i));
        }
}
