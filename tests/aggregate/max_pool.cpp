// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/max_pool.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/hardmax.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/unnormalized.hpp>
#include <fovea/score/compare.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/against_reference.hpp>

#include "catch.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {
constexpr auto engine = [](auto const&... arguments) { attend(arguments...); };
constexpr auto ones = compare(kv_idx * 0 + 1);  // every score is one
}  // namespace

TEST_CASE("max_pool is what the definition says", "[aggregate]") {
    testing::compare_with_reference<float>(engine, scaled_dot | causal | softmax | max_pool);
    testing::compare_with_reference<double>(engine, scaled_dot | where(kv_idx % 3 < 2) | unnormalized | max_pool);
    testing::compare_with_reference<float>(engine, scaled_dot | hardmax | max_pool);
}

TEST_CASE("the neighbours of a node are pooled feature by feature", "[aggregate]") {
    //! [example]
    std::vector<graph::edge> const edges{{0, 1}, {0, 2}, {1, 2}};
    graph const g(3, edges);
    tensor<float, 2> x({3, 2}), pooled({3, 2});
    x.elements = {1, 2, /**/ -3, 4, /**/ -1, -6};
    attend(ones | neighbors(g) | unnormalized | max_pool, x, pooled);
    // node 0 sees nodes 1 and 2: (-1, 4); node 1 sees node 2: (-1, -6); node 2 sees nobody: (0, 0)
    //! [example]
    CHECK(pooled.elements == std::vector<float>{-1, 4, -1, -6, 0, 0});
}
