// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/mask/neighborhood.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// The first and the last place that a query at `place` sees along an axis.
std::pair<index_t, index_t> window(index_t place, index_t size, index_t extent) {
    index_t const first = std::max<index_t>(std::min(place - size / 2, extent - size), 0);
    return {first, std::min(first + size, extent) - 1};
}

bool within(index_t query, index_t key, index_t size, index_t extent) {
    auto const [first, last] = window(query, size, extent);
    return first <= key && key <= last;
}

}  // namespace

TEST_CASE("neighborhood keeps the laws of a mask on a line, a plane and in a volume", "[mask]") {
    testing::check_mask_laws(neighborhood({5}, {20}), testing::lengths{20, 20, 1, 1});
    testing::check_mask_laws(neighborhood({3, 4}, {4, 6}), testing::lengths{24, 24, 1, 1});
    testing::check_mask_laws(neighborhood({2, 3, 1}, {3, 4, 2}), testing::lengths{24, 24, 1, 1});
    CHECK(bound(neighborhood({3, 3}, {64, 64}).predicate(), box{0, 0, {0, 63}, {256, 4095}, 4096, 4096}).never());
}

TEST_CASE("windows move inwards at the borders of a plane", "[mask]") {
    //! [example]
    auto const mask = neighborhood({3, 5}, {6, 8});  // 3 by 5 places on a grid of 6 by 8
    //! [example]
    for (index_t i = 0; i < 48; ++i)
        for (index_t j = 0; j < 48; ++j) {
            reference::index_environment<double> const at{{}, 0, 0, i, j, 48, 48, 8};
            CHECK(evaluate(mask.predicate(), at) == (within(i / 8, j / 8, 3, 6) && within(i % 8, j % 8, 5, 8)));
        }
}

TEST_CASE("every query has as many neighbours", "[mask]") {
    auto const mask = neighborhood({2, 3, 2}, {3, 4, 5});
    for (index_t i = 0; i < 60; ++i) {
        index_t seen = 0;
        for (index_t j = 0; j < 60; ++j)
            seen += evaluate(mask.predicate(), reference::index_environment<double>{{}, 0, 0, i, j, 60, 60, 8});
        CHECK(seen == 12);
    }
}

TEST_CASE("a window of no places is refused", "[mask]") {
    CHECK_THROWS_AS(neighborhood({0}, {8}), std::invalid_argument);
    CHECK_THROWS_WITH(neighborhood({3, -5}, {8, 8}), "neighborhood: a size is -5, it must be 1 or more");
}

TEST_CASE("windows may be larger than what they lie in, and extents any integers", "[mask]") {
    constexpr index_t least = std::numeric_limits<index_t>::min(), largest = std::numeric_limits<index_t>::max();
    reference::index_environment<double> const at{{}, 0, 0, 1, 1, 8, 8, 4};
    for (index_t const extent : {least, index_t{-1}, index_t{8}, largest}) {
        CAPTURE(extent);
        CHECK_NOTHROW(evaluate(neighborhood({largest}, {extent}).predicate(), at));
        CHECK_NOTHROW(evaluate(neighborhood({5, 5, 5}, {extent, extent, extent}).predicate(), at));
    }
    CHECK(evaluate(neighborhood({largest}, {largest}).predicate(), at));
    CHECK(evaluate(neighborhood({largest, largest}, {8, largest}).predicate(), at));
}
