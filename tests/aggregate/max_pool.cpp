// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/max_pool.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/hardmax.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/uniform.hpp>
#include <fovea/normalize/unnormalized.hpp>
#include <fovea/score/compare.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/against_reference.hpp>

#include "catch.hpp"
#include "support/fused.hpp"

#include <cmath>
#include <limits>

using namespace fovea;
using namespace fovea::placeholders;

namespace {
constexpr auto ones = compare(kv_idx * 0 + 1);  // every score is one
}  // namespace

TEST_CASE("max_pool is what the definition says", "[aggregate]") {
    check_fused<float>(scaled_dot | causal | softmax | max_pool);
    check_fused<double>(scaled_dot | where(kv_idx % 3 < 2) | unnormalized | max_pool);
    check_fused<float>(scaled_dot | hardmax | max_pool);
}

TEST_CASE("a value that is no number stays in the maximum, wherever it stands", "[aggregate]") {
    for (index_t const keys : {1, 16, 33, 600})
        for (index_t const at : {index_t{0}, keys / 2, keys - 1}) {
            tensor<float, 2> const q({2, 1}, 1), k({keys, 1}, 1);
            tensor<float, 2> v({keys, 2}, 3), result({2, 2});
            v(at, 0) = std::numeric_limits<float>::quiet_NaN();
            attend(dot | uniform | max_pool, q, k, v, result);
            CAPTURE(keys, at);
            CHECK(std::isnan(result(0, 0)));
            CHECK(result(1, 1) == Approx(3.f / static_cast<float>(keys)));
            reference::attend(dot | uniform | max_pool, q, k, v, result);
            CHECK(std::isnan(result(0, 0)));
        }
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
