// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/logic.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/mask/sliding_window.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("masks combine like conditions", "[mask]") {
    auto const prefix = where(kv_idx < 5);
    testing::check_mask_laws(causal || prefix);
    testing::check_mask_laws(causal && sliding_window(4, 0));
    testing::check_mask_laws(!causal);
    testing::check_mask_laws(causal, prefix);
    testing::check_mask_laws(!causal && prefix, sliding_window(2, 2) || causal);
    CHECK(describe(causal || prefix) == "where(kv_idx <= q_idx || kv_idx < 5)");
    CHECK(describe(!causal) == "where(!(kv_idx <= q_idx))");
}

TEST_CASE("a condition beside a mask is a mask", "[mask]") {
    auto const first = kv_idx < 5;
    CHECK(describe(causal && first) == describe(causal && where(first)));
    CHECK(describe(first && causal) == describe(where(first) && causal));
    CHECK(describe(causal || first) == describe(causal || where(first)));
    CHECK(describe(first || causal) == describe(where(first) || causal));
    CHECK(describe(where(causal && first)) == describe(causal && first));
    testing::check_mask_laws(first || !causal);
    testing::check_mask_laws(causal && first, sliding_window(2, 2));
}

TEST_CASE("a mask that lists keys keeps its list", "[mask]") {
    std::vector<index_t> const offsets{0, 1};
    std::vector<std::int32_t> const keys{0};
    auto const listed = neighbors(graph_view{offsets, keys});
    STATIC_REQUIRE(enumerating_mask<decltype(listed && causal)>);
    STATIC_REQUIRE(enumerating_mask<decltype(causal && listed)>);
    CHECK((causal && listed).neighbor_list().edges() == 1);
    CHECK((kv_idx < 1 && listed).neighbor_list().edges() == 1);
}

TEST_CASE("recent keys or the first one", "[mask]") {
    //! [example]
    auto const recent_or_first = causal && (sliding_window(2, 0) || where(kv_idx < 1));
    //! [example]
    for (index_t i = 0; i < 8; ++i)
        for (index_t j = 0; j < 8; ++j) {
            reference::index_environment<double> const at{{}, 0, 0, i, j, 8, 8, 4};
            CHECK(evaluate(recent_or_first.predicate(), at) == (j <= i && (i - j <= 2 || j < 1)));
        }
}
