// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Extremes of tables by tiles: what they say of a box holds for all its elements, and is no wider than the tiles that
// the box meets.
#include <fovea/core/half.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/dense/table_extremes.hpp>
#include <fovea/driver/run/executor.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <limits>
#include <memory>

using namespace fovea;

namespace {

/// The least and the greatest element of a box, one by one; what nobody has looked at where one is no number.
template <class T, int Rank, class Number>
interval<Number> each_of(view<T const, Rank> const& table, std::array<interval<index_t>, std::size_t{Rank}> const& box,
                         interval<Number> const& unknown) {
    interval<Number> all{};
    bool first = true;
    auto at = box;
    for (bool more = true; more;) {
        index_t offset = 0;
        for (std::size_t axis = 0; axis < std::size_t{Rank}; ++axis) offset += at[axis].lo * table.strides[axis];
        auto const element = static_cast<Number>(table.data[offset]);
        if (element != element) return unknown;
        all = {first || element < all.lo ? element : all.lo, first || all.hi < element ? element : all.hi};
        first = false;
        more = false;
        for (std::size_t axis = std::size_t{Rank}; axis-- > 0 && !more;) {
            more = at[axis].lo < at[axis].hi;
            at[axis].lo = more ? at[axis].lo + 1 : box[axis].lo;
        }
    }
    return all;
}

/// Of random boxes: the elements of the box lie in the range, and the range in that of the box widened to whole tiles.
template <class T, int Rank, class Draw>
void check_ranges(extents_t<Rank> const& extents, extents_t<Rank> const& strides, Draw const& draw) {
    index_t size = 1;
    for (std::size_t axis = 0; axis < std::size_t{Rank}; ++axis) size += (extents[axis] - 1) * strides[axis];
    using stored = std::conditional_t<std::is_same_v<T, bit>, unsigned char, T>;
    std::unique_ptr<stored[]> const elements(new stored[static_cast<std::size_t>(size)]);
    for (index_t i = 0; i < size; ++i) elements[static_cast<std::size_t>(i)] = draw();
    view<T const, Rank> const table{elements.get(), extents, strides};
    arena memory;
    driver::table_extremes<T, Rank> const extremes(serial, memory, table);
    REQUIRE(extremes.is_of(table));
    testing::dice random(9);
    constexpr index_t all = std::numeric_limits<index_t>::max();
    for (int trial = 0; trial < 200; ++trial) {
        std::array<interval<index_t>, std::size_t{Rank}> box, tiles;
        for (std::size_t axis = 0; axis < std::size_t{Rank}; ++axis) {
            index_t const first = random.between(0, extents[axis] - 1), last = random.between(first, extents[axis] - 1);
            index_t const tile = axis + 1 == std::size_t{Rank} ? 32 : axis + 2 == std::size_t{Rank} ? 16 : 1;
            box[axis] = {first, last};
            tiles[axis] = {first / tile * tile, std::min((last / tile + 1) * tile, extents[axis]) - 1};
        }
        auto const said = extremes.range(box), inner = fovea::detail::range_of(table, box, all),
                   outer = fovea::detail::range_of(table, tiles, all);
        CHECK(inner == each_of(table, box, fovea::detail::any_element<T>()));
        CHECK(said.lo <= inner.lo);
        CHECK(inner.hi <= said.hi);
        CHECK(outer.lo <= said.lo);
        CHECK(said.hi <= outer.hi);
    }
}

}  // namespace

TEST_CASE("extremes of tiles hold every element of a box", "[driver]") {
    testing::dice random(2);
    auto const number = [&] { return static_cast<float>(random.between(-1000, 1000)) / 8; };
    auto const with_holes = [&] {
        index_t const n = random.between(0, 99);
        return n == 0  ? std::numeric_limits<float>::quiet_NaN()
             : n < 40  ? -std::numeric_limits<float>::infinity()
             : n == 99 ? std::numeric_limits<float>::infinity()
                       : number();
    };
    check_ranges<float, 2>({77, 200}, {200, 1}, number);
    check_ranges<float, 4>({2, 3, 33, 65}, {0, 33 * 65, 65, 1}, with_holes);
    check_ranges<double, 3>({2, 40, 31}, {40 * 31, 31, 1}, number);
    check_ranges<float16, 2>({17, 97}, {100, 1}, [&] { return float16(with_holes()); });
    check_ranges<float, 3>({3, 19, 53}, {60, 180, 1}, number);
    check_ranges<bool, 3>({3, 41, 50}, {41 * 50, 50, 1}, [&] { return random.chance(0.01); });
    check_ranges<bool, 2>({48, 96}, {96, 1}, [&] { return random.between(0, 500) > 0; });
    auto const byte = [&] { return static_cast<std::uint8_t>(random.chance(0.3) ? 255 : random.between(0, 255)); };
    check_ranges<bit, 2>({48, 96}, {96, 1}, byte);
    check_ranges<bit, 3>({2, 50, 75}, {0, 77, 1}, byte);
    check_ranges<std::uint8_t, 3>({3, 20, 64}, {20 * 64, 64, 1},
                                  [&] { return static_cast<std::uint8_t>(random.between(0, 255)); });
    check_ranges<std::int64_t, 2>({50, 70}, {70, 1}, [&] { return random.between(-1'000'000'000'000, 5); });
    check_ranges<std::uint64_t, 2>({50, 70}, {70, 1}, [&] { return static_cast<std::uint64_t>(random.between(0, 9)); });
}
