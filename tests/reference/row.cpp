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
    CHECK(row.sum([](auto s) { return s + 1; }) == 15);
    CHECK(row.sums([](auto s) { return std::array{s, s * s}; }) == std::array{12.f, 54.f});
    CHECK(row.max_of([](auto s) { return -s; }) == -2);
    row_scratch<float> room;
    auto const few = row.at_least(5, room);
    CHECK(std::vector<float>(few.scores.begin(), few.scores.end()) == std::vector<float>{5, 5});
    CHECK(row.reached_by(2) == 5);
    CHECK(row.reached_by(3) == 2);
    CHECK(row.reached_by(5) == excluded<float>);
    auto limited = scores;
    reference::row<float>{limited, keys}.map_from(3, [](auto s) { return s + 1; });
    CHECK(limited == std::vector<float>{0, 0, 6, 6});
    CHECK(row.map_and_sum([](auto s) { return s + 1; }) == 15);
    CHECK(scores == std::vector<float>{3, 0, 6, 6});  // an excluded pair has weight 0
}

TEST_CASE("a row without keys has no greatest score", "[reference]") {
    reference::row<double> const row{};
    CHECK(row.max() == excluded<double>);
    CHECK(row.first_max().key == -1);
    CHECK(row.map_and_sum([](auto s) { return s; }) == 0);
}

TEST_CASE("more scores than a room holds are the row itself as numbers too", "[reference]") {
    row_scratch<float> room;
    std::vector<float> scores(static_cast<std::size_t>(room.size) + 1, 1.f);
    reference::row<float> const row{scores, {}};
    CHECK(row.at_least(1, room).scores.data() == scores.data());
    scores[3] = 0;
    CHECK(row.at_least(1, room).size() == room.size);
}
