// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

using namespace fovea;
using Catch::Matchers::ContainsSubstring;

namespace {

/// One row after a map, as the definition has it.
template <class Map>
std::vector<double> mapped(Map const& map, std::vector<double> const& row, index_t position, index_t batch = 0) {
    auto const size = static_cast<index_t>(row.size());
    tensor<double, 4> rows({batch + 1, 1, position + 1, size});
    for (index_t c = 0; c < size; ++c) rows(batch, 0, position, c) = row[static_cast<std::size_t>(c)];
    auto const all = reference::project<double>(as_is | map, rows.view(), rows.extents);
    auto const* const from = &all(batch, 0, position, 0);
    return {from, from + size};
}

void check_equal(std::vector<double> const& got, std::vector<double> const& expected) {
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).margin(1e-12));
}

std::vector<double> const row{1, -2, 0.5, 3, 0.25, -1};

}  // namespace

TEST_CASE("rotary turns a pair of features by position times frequency", "[project]") {
    std::vector<double> expected(6);
    for (std::size_t i = 0; i < 3; ++i) {
        double const angle = 5 / std::pow(10000, 2 * static_cast<double>(i) / 6);
        expected[i] = row[i] * std::cos(angle) - row[i + 3] * std::sin(angle);
        expected[i + 3] = row[i + 3] * std::cos(angle) + row[i] * std::sin(angle);
    }
    check_equal(mapped(rotary, row, 5), expected);
    check_equal(mapped(rotary, row, 0), row);
}

TEST_CASE("interleaved pairs are neighbours", "[project]") {
    auto const halves = mapped(rotary, {row[0], row[2], row[4], row[1], row[3], row[5]}, 7);
    auto const pairs = mapped(rotary.interleaved(), row, 7);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(pairs[2 * i] == halves[i]);
        CHECK(pairs[2 * i + 1] == halves[i + 3]);
    }
}

TEST_CASE("rotary of some features leaves the others as they are", "[project]") {
    auto const part = mapped(rotary.features(4), row, 9);
    auto const alone = mapped(rotary, {row[0], row[1], row[2], row[3]}, 9);
    check_equal(part, {alone[0], alone[1], alone[2], alone[3], row[4], row[5]});
}

TEST_CASE("positions are counted from a number, from one per batch element, or listed", "[project]") {
    auto const expected = mapped(rotary, row, 11);
    check_equal(mapped(rotary.from(8), row, 3), expected);
    tensor<std::int32_t, 1> starts({2});
    starts(0) = 4, starts(1) = 9;
    check_equal(mapped(rotary.from(starts), row, 2, 1), expected);
    tensor<index_t, 1> listed({3});
    listed(2) = 11;
    check_equal(mapped(rotary.positions(listed), row, 2), expected);
    tensor<std::int32_t, 2> by_batch({2, 3});
    by_batch(1, 2) = 5;
    check_equal(mapped(rotary.positions(by_batch).from(6), row, 2, 1), expected);
    CHECK_THROWS_AS(rotary.positions(by_batch).from(listed), shape_error);
}

TEST_CASE("frequencies are scaled or given", "[project]") {
    check_equal(mapped(rotary.interpolated(4), row, 12), mapped(rotary, row, 3));
    check_equal(mapped(rotary.ntk_scaled(8), row, 5), mapped(rotary.base(10000 * std::pow(8, 6. / 4)), row, 5));
    tensor<float, 1> table({3});
    table(0) = 0.5f, table(1) = 0.25f, table(2) = 0;
    auto const got = mapped(rotary.frequencies(table), row, 2);
    CHECK(got[0] == Approx(row[0] * std::cos(1) - row[3] * std::sin(1)));
    CHECK(got[4] == Approx(row[4] * std::cos(0.5) + row[1] * std::sin(0.5)));
    CHECK(got[2] == row[2]);
}

TEST_CASE("rotated queries and keys compare by their distance alone", "[project]") {
    std::vector<double> const key{0.5, 1, -1, 2, 0, 1};
    auto const score = [&](index_t q, index_t k) {
        auto const a = mapped(rotary, row, q), b = mapped(rotary, key, k);
        double sum = 0;
        for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
        return sum;
    };
    CHECK(score(7, 3) == Approx(score(20, 16)));
    CHECK(score(3, 7) == Approx(score(104, 108)));
}

TEST_CASE("rotary in an attention", "[project]") {
    testing::dice random(5);
    auto const wq = testing::random_tensor<float>(random, std::array<index_t, 2>{12, 16});
    auto const wk = testing::random_tensor<float>(random, std::array<index_t, 2>{12, 8});
    auto const wv = testing::random_tensor<float>(random, std::array<index_t, 2>{12, 8});
    auto const x = testing::random_tensor<float>(random, std::array<index_t, 3>{2, 9, 12});
    tensor<float, 3> y({2, 9, 16}), shifted({2, 9, 16});

    //! [example]
    // Four query heads of four features over two key/value heads; a cache would hold keys that are turned already.
    auto const turned = project(wq | rotary, wk | rotary, wv, heads<4, 2>);
    attend(turned | scaled_dot | causal | softmax | weighted_sum, x, y);

    // The same a thousand positions later: only distances count.
    auto const later = rotary.from(1000);
    attend(project(wq | later, wk | later, wv, heads<4, 2>) | scaled_dot | causal | softmax | weighted_sum, x, shifted);
    //! [example]

    for (std::size_t i = 0; i < y.elements.size(); ++i)
        CHECK(y.elements[i] == Approx(shifted.elements[i]).margin(1e-4));
}

TEST_CASE("rotary, fused", "[project]") {
    testing::dice random(6);
    auto const wq = testing::random_tensor<float>(random, std::array<index_t, 2>{11, 40}, 0.5);
    auto const wk = testing::random_tensor<float>(random, std::array<index_t, 2>{11, 20}, 0.5);
    auto const frequencies = testing::random_tensor<float>(random, std::array<index_t, 1>{3});
    testing::call_sizes const sizes{
        .batches = 2, .heads = 4, .key_heads = 2, .queries = 70, .keys = 67, .features = 10, .value_features = 3};
    check_fused_at_all_widths<float>(
        project(wq | rotary, wk | rotary.interleaved(), as_is, heads<4, 2>) | scaled_dot | softmax | weighted_sum,
        sizes);
    auto const part = rotary.features(6);
    check_fused<double>(project(as_is | part, as_is | part.frequencies(frequencies).from(3), as_is, heads<4, 2>)
                            | scaled_dot | causal | softmax | weighted_sum,
                        sizes);
}

TEST_CASE("heads that come with the operands stay, rotary or not", "[project]") {
    testing::dice random(7);
    auto const q = testing::random_tensor<float>(random, extents_t<4>{2, 4, 9, 8});
    auto const k = testing::random_tensor<float>(random, extents_t<4>{2, 2, 9, 8});
    auto const v = testing::random_tensor<float>(random, extents_t<4>{2, 2, 9, 5});
    auto const wq = reference::project<float>(as_is | rotary, q.view(), q.extents);
    auto const wk = reference::project<float>(as_is | rotary, k.view(), k.extents);
    tensor<float, 4> expected({2, 4, 9, 5}), got({2, 4, 9, 5}), defined({2, 4, 9, 5});
    constexpr auto sdpa = scaled_dot | causal | softmax | weighted_sum;
    auto const spec = project(as_is | rotary, as_is | rotary, as_is) | scaled_dot | causal | softmax | weighted_sum;
    attend(sdpa, wq, wk, v, expected);
    attend(spec, q, k, v, got);
    reference::attend(spec, q, k, v, defined);
    for (std::size_t i = 0; i < got.elements.size(); ++i) {
        CHECK(got.elements[i] == Approx(expected.elements[i]).margin(1e-5));
        CHECK(defined.elements[i] == Approx(expected.elements[i]).margin(1e-5));
    }
}

TEST_CASE("rotations that do not fit are named", "[project]") {
    tensor<float, 3> const x({2, 5, 6});
    tensor<float, 3> y({2, 5, 6}, 7);
    auto const call = [&](auto const& map) {
        attend(project(as_is | map, as_is, as_is) | scaled_dot | softmax | weighted_sum, x, y);
    };
    CHECK_THROWS_WITH(call(rotary.features(5)), "rotary on query: 5 features cannot be rotated in pairs, a head has 6");
    CHECK_THROWS_WITH(call(rotary.features(8)), "rotary on query: 8 features cannot be rotated in pairs, a head has 6");
    tensor<float, 1> const two({2});
    CHECK_THROWS_WITH(call(rotary.frequencies(two)), "rotary on query: there are 2 frequencies for 3 pairs");
    tensor<index_t, 1> const three({3});
    CHECK_THROWS_WITH(call(rotary.from(three)), "rotary on query: there are 3 first positions for a batch of 2");
    CHECK_THROWS_WITH(call(rotary.positions(three)),
                      ContainsSubstring("positions are (1, 3), (batch, position) is (2, 5)"));
    for (float element : y) CHECK(element == 7);
}

TEST_CASE("angles come of numbers above 0", "[project]") {
    tensor<float, 3> const x({2, 5, 6});
    tensor<float, 3> y({2, 5, 6}, 7);
    for (auto const& map : {rotary.base(-1), rotary.interpolated(0), rotary.ntk_scaled(double{NAN})}) {
        auto const spec = project(as_is | map, as_is, as_is) | scaled_dot | softmax | weighted_sum;
        CHECK_THROWS_AS(attend(spec, x, y), std::invalid_argument);
        CHECK_THROWS_AS(reference::attend(spec, x, y), std::invalid_argument);
    }
    CHECK_THROWS_WITH(attend(project(as_is, as_is | rotary.base(0), as_is) | scaled_dot | softmax | weighted_sum, x, y),
                      "rotary: a base or factor is 0, it must be above 0");
    for (float element : y) CHECK(element == 7);
}
