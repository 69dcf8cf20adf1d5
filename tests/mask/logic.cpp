// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/mask/causal.hpp>
#include <fovea/mask/logic.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/mask/sliding_window.hpp>
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

TEST_CASE("a mask that lists keys keeps its list", "[mask]") {
    std::vector<index_t> const offsets{0, 1};
    std::vector<std::int32_t> const keys{0};
    auto const listed = neighbors(graph_view{offsets, keys});
    STATIC_REQUIRE(enumerating_mask<decltype(listed && causal)>);
    STATIC_REQUIRE(enumerating_mask<decltype(causal && listed)>);
    CHECK((causal && listed).neighbor_list().edges() == 1);
}
