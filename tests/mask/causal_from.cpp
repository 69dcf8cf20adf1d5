// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/mask/causal_from.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("causal_from shows the keys before a moved diagonal", "[mask]") {
    std::vector<int> const cached{3, 0};
    testing::check_mask_laws(causal_from(5));
    testing::check_mask_laws(causal_from(-4));
    testing::check_mask_laws(causal_from(param(cached)[batch]), testing::lengths{9, 20, 2, 2});
}

TEST_CASE("each element of a batch has its own offset", "[mask]") {
    //! [example]
    std::vector<int> const cached{3, 0};  // keys that each sequence had before these queries
    auto const mask = causal_from(cached);
    //! [example]
    CHECK(describe(mask) == describe(causal_from(param(cached)[batch])));
    for (index_t b = 0; b < 2; ++b)
        for (index_t i = 0; i < 4; ++i)
            for (index_t j = 0; j < 8; ++j) {
                reference::index_environment<double> const at{{}, b, 0, i, j, 4, 8, 8};
                CHECK(evaluate(mask.predicate(), at) == (j <= i + cached[static_cast<std::size_t>(b)]));
            }
}
