// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/reference/row.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;

TEST_CASE("a row gives what a normalizer asks for", "[reference]") {
    std::vector<float> scores{2, excluded<float>, 5, 5};
    std::vector<index_t> const keys{9, 4, 6, 3};
    reference::row<float> const row{scores, keys};
    CHECK(row.max() == 5);
    CHECK(row.first_max().key == 3);
    CHECK(row.size() == 4);
    CHECK(row.key(0) == 9);
    CHECK(row.map_and_sum([](auto s) { return s + 1; }) == 15);
    CHECK(scores == std::vector<float>{3, 0, 6, 6});  // an excluded pair has weight 0
}

TEST_CASE("a row without keys has no greatest score", "[reference]") {
    reference::row<double> const row{};
    CHECK(row.max() == excluded<double>);
    CHECK(row.first_max().key == -1);
    CHECK(row.map_and_sum([](auto s) { return s; }) == 0);
}
