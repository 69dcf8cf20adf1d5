// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set
// Numbers as sums of bfloat16, and the products of their parts.
#include <fovea/kernel/product/amx_packing.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/matrix_unit.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

using namespace fovea;

namespace {
using vector = kernel::pack<float, with_matrix_unit>;
using three = kernel::bf16_parts<float, with_matrix_unit, 3>;
constexpr auto lanes = static_cast<std::size_t>(vector::lanes);

/// The three parts of each of two packs: (part, number).
std::array<std::array<float, 2 * lanes>, 3> parts_of(std::array<float, 2 * lanes> const& numbers) {
    std::array<std::array<float, 2 * lanes>, 3> all;
    three::split(vector::load(numbers.data()), vector::load(numbers.data() + lanes),
                 [&](auto part, vector const& pairs) {
                     auto* const to = all[std::size_t{part()}].data();
                     three::lower(pairs).store(to);
                     three::upper(pairs).store(to + lanes);
                 });
    return all;
}

/// The products of parts in the order in which they are taken, and how often a part is loaded for them.
template <int Left, int Right, int Kept>
std::vector<std::pair<int, int>> small_products(int& loads) {
    std::vector<std::pair<int, int>> all;
    std::pair<int, int> loaded{-1, -1};
    kernel::for_each_small_product<Left, Right, Kept>([&](auto left, auto right, auto loads_left, auto loads_right) {
        if (loads_left()) loaded.first = left();
        if (loads_right()) loaded.second = right();
        loads += loads_left() + loads_right();
        CHECK(loaded == std::pair<int, int>(left(), right()));
        all.push_back(loaded);
    });
    return all;
}
template <int Left, int Right, int Kept>
void check_products(int expected_loads) {
    int loads = 0;
    auto const all = small_products<Left, Right, Kept>(loads);
    std::set<std::pair<int, int>> expected;
    for (int left = 0; left < Left; ++left)
        for (int right = 0; right < Right; ++right)
            if (left + right > 0 && left + right < Kept) expected.insert({left, right});
    CHECK(std::set(all.begin(), all.end()) == expected);
    CHECK(all.size() == expected.size());
    CHECK(kernel::products_of_parts<Left, Right, Kept> == static_cast<int>(expected.size()) + 1);
    CHECK(loads == expected_loads);
}
}  // namespace

TEST_CASE("the parts of a finite number are finite and add up to it", "[kernel]") {
    testing::dice random(5);
    for (int exponent = -100; exponent <= 127; ++exponent) {
        std::array<float, 2 * lanes> numbers;
        for (float& x : numbers)
            x = std::ldexp(static_cast<float>(random.real(1, 2)), exponent) * (random.chance(0.5) ? -1.f : 1.f);
        numbers[3] = std::ldexp(0x1.fffffep0f, exponent);
        auto const parts = parts_of(numbers);
        bool right = true;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            float const first = parts[0][i], second = parts[1][i], third = parts[2][i];
            right = right && std::isfinite(first) && first + (second + third) == numbers[i]
                 && std::abs(second) <= std::abs(numbers[i]) * 0x1p-7f && std::abs(third) <= std::abs(second) * 0x1p-8f;
        }
        CAPTURE(exponent);
        CHECK(right);
    }
}

TEST_CASE("a number that is not finite is its first part", "[kernel]") {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    std::array<float, 2 * lanes> numbers{};
    numbers[1] = infinity;
    numbers[lanes + 2] = -infinity;
    numbers[4] = std::numeric_limits<float>::quiet_NaN();
    auto const parts = parts_of(numbers);
    CHECK((parts[0][1] == infinity && parts[0][lanes + 2] == -infinity && std::isnan(parts[0][4])));
    for (std::size_t i = 0; i < numbers.size(); ++i) CHECK((parts[1][i] == 0 && parts[2][i] == 0));
}

TEST_CASE("a row is split in its order, with zeros after its end", "[kernel]") {
    std::array<float, 19> row;
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = 1 / static_cast<float>(i + 3);
    alignas(64) std::array<bfloat16, 3 * 2 * lanes> to;
    three::split_row(row.data(), index_t{19}, to.data(), index_t{2 * lanes});
    for (std::size_t i = 0; i < 2 * lanes; ++i) {
        auto const part = [&](std::size_t n) { return static_cast<float>(to[n * 2 * lanes + i]); };
        CHECK(part(0) + (part(1) + part(2)) == (i < row.size() ? row[i] : 0.f));
    }
}

TEST_CASE("each small product of parts is taken once, and neighbours share a part", "[kernel]") {
    check_products<3, 3, 3>(6);
    check_products<2, 2, 2>(4);
    check_products<2, 2, 3>(4);
    check_products<1, 3, 3>(3);
    check_products<3, 1, 3>(3);
    check_products<2, 3, 3>(5);
    check_products<1, 1, 2>(0);
}
