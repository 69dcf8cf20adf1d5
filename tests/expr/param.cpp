// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/tensor.hpp>
#include <fovea/expr/functions.hpp>
#include <fovea/reference/environment.hpp>

#include "catch.hpp"

#include <array>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {
reference::index_environment<double> const here{{}, 0, 1, 2, 3, 4, 5, 6};
}

TEST_CASE("tables come from views and from whatever has elements in a row", "[expr]") {
    std::vector<float> const row{1, 2, 3};
    std::array<int, 4> const numbers{5, 6, 7, 8};
    tensor<double, 2> plane({2, 4}, 1);
    plane(1, 3) = 9;
    CHECK(evaluate(param(row)[q_idx], here) == 3);
    CHECK(evaluate(param(numbers)[kv_idx], here) == 8);
    CHECK(evaluate(param(plane)(head, kv_idx), here) == 9);
    CHECK(evaluate(param(plane)[head][kv_idx], here) == 9);
    CHECK(evaluate(param(plane.view())[head][q_idx + 1], here) == 9);
    CHECK(evaluate(param(2.5) * q_idx, here) == 5);
}

TEST_CASE("a table is not copied: it is read when the expression is", "[expr]") {
    std::vector<float> row{1, 2, 3};
    auto const e = param(row)[q_idx];
    row[2] = 30;
    CHECK(evaluate(e, here) == 30);
}

TEST_CASE("a table read out of its range says where", "[expr]") {
    std::vector<float> const row{1, 2, 3};
    CHECK_THROWS_WITH(evaluate(param(row)[kv_idx], here),
                      "a table of extents (3) is read at (3): index 0 is 3, it must be from 0 to 2");
    tensor<float, 2> const plane({2, 3});
    CHECK_THROWS_WITH(evaluate(param(plane)(head, q_idx - 7), here),
                      "a table of extents (2, 3) is read at (1, -5): index 1 is -5, it must be from 0 to 2");
}
