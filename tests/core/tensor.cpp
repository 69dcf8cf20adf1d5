// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/tensor.hpp>

#include "catch.hpp"

#include <algorithm>

using namespace fovea;

TEST_CASE("a tensor owns its elements in C order", "[core]") {
    tensor<double, 3> t({2, 3, 4}, 1.5);
    CHECK(t.size() == 24);
    CHECK(t.extent(1) == 3);
    t(1, 2, 3) = 9;
    CHECK(t.elements.back() == 9);
    CHECK(t.view()(1, 2, 3) == 9);
    CHECK(t(0, 0, 0) == 1.5);
    auto const copy = t;
    t(1, 2, 3) = 0;
    CHECK(copy(1, 2, 3) == 9);
}

TEST_CASE("a tensor may be empty", "[core]") {
    tensor<float, 2> const t({0, 5});
    CHECK(t.size() == 0);
    CHECK(t.view().extent(1) == 5);
}

TEST_CASE("a tensor of bool holds one after the other", "[core]") {
    tensor<bool, 2> t({2, 3}, true);
    t(1, 0) = false;
    CHECK(t.data()[3] == false);
    CHECK(std::count(t.begin(), t.end(), true) == 5);
    auto const copy = t;
    CHECK(copy.view()(1, 0) == false);
    CHECK(tensor<bool, 1>({4}).size() == 4);
}

TEST_CASE("a tensor has no negative extents", "[core]") {
    CHECK_THROWS_WITH((tensor<float, 2>({-3, -2})), "a tensor has extent -3 along axis 0: it must be 0 or more");
    CHECK_THROWS_AS((tensor<bool, 3>({2, 0, -1})), shape_error);
}
