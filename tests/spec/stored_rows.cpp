// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows that are stored as integers with scales and zero points: each number is the nearest of those that its scale has,
// in one array and in pages, and attention over the integers is attention over these numbers.
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/source_laws.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"

#include <cmath>
#include <limits>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr auto decoding = scaled_dot | causal_at_end | softmax | weighted_sum;

tensor<float, 4> stood_for(auto const& rows) {
    tensor<float, 4> numbers(rows.extents);
    for (index_t b = 0; b < rows.extent(0); ++b)
        for (index_t h = 0; h < rows.extent(1); ++h)
            for (index_t n = 0; n < rows.extent(2); ++n)
                for (index_t c = 0; c < rows.extent(3); ++c) numbers(b, h, n, c) = rows(b, h, n, c);
    return numbers;
}

/// The distance from x to the nearest number that an integer can stand for.
template <class Integer>
double least_error(double x, double scale, double zero) {
    double least = infinite;
    for (int i = std::numeric_limits<Integer>::min(); i <= std::numeric_limits<Integer>::max(); ++i)
        least = std::min(least, std::abs(x - scale * (i - zero)));
    return least;
}

/// The stored rows, one by one: each number is the nearest that there is, at most `steps` of the scale away.
template <class Integer, class Scale, class Zero>
void check_stored(tensor<float, 4> const& source, tensor<Integer, 4> const& integers, tensor<Scale, 4> const& scales,
                  tensor<Zero, 4> const& zeros, double steps) {
    auto const rows = block_scaled(integers, scales, zeros);
    testing::check_source(rows);
    auto const at = [&](auto const& table, index_t b, index_t h, index_t n, index_t c) {
        auto const nearest = [&](int axis, index_t i) { return std::min(i, table.extent(axis) - 1); };
        return static_cast<double>(
            table(nearest(0, b), nearest(1, h), nearest(2, n), c / (source.extent(3) / table.extent(3))));
    };
    for (index_t b = 0; b < source.extent(0); ++b)
        for (index_t h = 0; h < source.extent(1); ++h)
            for (index_t n = 0; n < source.extent(2); ++n)
                for (index_t c = 0; c < source.extent(3); ++c) {
                    double const x = source(b, h, n, c), scale = at(scales, b, h, n, c), zero = at(zeros, b, h, n, c);
                    double const error = std::abs(x - rows(b, h, n, c)), slack = 1e-5 * (scale + std::abs(x));
                    CAPTURE(b, h, n, c, x, scale, zero);
                    CHECK(error <= least_error<Integer>(x, scale, zero) + slack);
                    if (steps < infinite) CHECK(error <= steps * scale + slack);
                }
}

template <class Integer, class Scale = float, class Zero = float>
void check_store(extents_t<4> const& of_scales, double steps, double offset = 0, Scale given = Scale(0.0f),
                 Zero zero = 0) {
    testing::dice random(static_cast<unsigned>(of_scales[3]));
    auto source = testing::random_tensor<float, 4>(random, {2, 3, 5, 24});
    for (float& x : source) x += static_cast<float>(offset);
    for (index_t c = 0; c < 24; ++c) source(1, 2, 4, c) = 0.75f;  // alike
    tensor<Integer, 4> integers(source.extents);
    tensor<Scale, 4> scales(of_scales, given);
    tensor<Zero, 4> zeros(of_scales, zero);
    store(integers.view(), scales.view(), zeros.view(), source.view(), 0);
    check_stored(source, integers, scales, zeros, steps);
    if (zero != 0) return;
    scales = tensor<Scale, 4>(of_scales, given);
    store(integers.view(), scales.view(), source.view(), 0);
    check_stored(source, integers, scales, tensor<Zero, 4>(of_scales, Zero{0}), infinite);
}

}  // namespace

TEST_CASE("each number is stored as the nearest that its scale has", "[spec]") {
    for (index_t blocks : {1, 3, 24}) {
        check_store<std::int8_t>({2, 3, 5, blocks}, 0.5);
        check_store<std::uint8_t>({2, 3, 5, blocks}, 0.5, 0.5);
        check_store<std::uint8_t, float, std::uint8_t>({2, 3, 5, blocks}, 1.0);
        check_store<std::int8_t, float16, std::int32_t>({2, 3, 5, blocks}, 1.1, -0.25);
    }
    check_store<std::uint8_t>({1, 3, 1, 24}, infinite, 0, 0.01f, 100.0f);  // given: what is beyond saturates
    check_store<std::int8_t, float16>({1, 1, 1, 1}, infinite, 0, float16(0.005f));
}

TEST_CASE("a number that is not finite makes a computed scale no number", "[spec]") {
    tensor<float, 4> source({1, 1, 2, 4}, 1);
    source(0, 0, 1, 2) = std::numeric_limits<float>::infinity();
    tensor<std::int8_t, 4> integers(source.extents);
    tensor<float, 4> scales({1, 1, 2, 1}), zeros({1, 1, 2, 1});
    store(integers.view(), scales.view(), zeros.view(), source.view(), 0);
    auto const rows = block_scaled(integers, scales, zeros);
    CHECK(rows.finite({0, 0, 0, 1}));
    CHECK(std::isnan(rows(0, 0, 1, 0)));
    testing::check_source(rows);
}

TEST_CASE("what scales make infinite is not finite", "[spec]") {
    tensor<std::uint8_t, 4> integers({1, 2, 3, 4}, 5);
    tensor<float, 4> const scales({1, 1, 1, 4}, 3e37f), zeros({1, 1, 1, 4}, 1.0f);
    testing::check_source(block_scaled(integers, scales, zeros));
    integers(0, 1, 2, 3) = 255;
    testing::check_source(block_scaled(integers, scales, zeros));
}

TEST_CASE("attention over integers with zero points is attention over their numbers", "[spec]") {
    testing::dice random(5);
    for (index_t const queries : {1, 3, 40})
        for (index_t const keys : {40, 333}) {
            auto const source = testing::random_tensor<float, 4>(random, {2, 2, keys, 32});
            tensor<std::uint8_t, 4> integers(source.extents), calibrated(source.extents);
            tensor<float, 4> scales({2, 2, keys, 1}), zeros(scales.extents), of_channel({1, 2, 1, 32}, 0.008f),
                at_middle({1, 1, 1, 32}, 128);
            store(integers.view(), scales.view(), zeros.view(), source.view(), 0);
            store(calibrated.view(), of_channel.view(), at_middle.view(), source.view(), 0);
            auto const key = block_scaled(calibrated, of_channel, at_middle),
                       value = block_scaled(integers, scales, zeros);
            auto const query = testing::random_tensor<float, 4>(random, {2, 4, queries, 32});
            tensor<float, 4> got(query.extents), expected(query.extents), defined(query.extents);
            attend(decoding, query, key, value, got);
            attend(decoding, query, stood_for(key), stood_for(value), expected);
            reference::attend(decoding, query, key, value, defined);
            CAPTURE(queries, keys);
            testing::check_close<float, float>("result", expected.elements, got.elements, {1e-5, 1e-5});
            testing::check_close<float, float>("definition", defined.elements, got.elements, {1e-5, 1e-5});
        }
}

TEST_CASE("integers with zero points of a ragged batch are those of each sequence", "[spec]") {
    testing::dice random(6);
    std::vector<index_t> const offsets{0, 4, 4, 29};
    auto const source = testing::random_tensor<float, 4>(random, {1, 1, 29, 32});
    tensor<std::uint8_t, 4> integers(source.extents);
    tensor<float, 4> scales({1, 1, 29, 1}), zeros(scales.extents), shared({1, 1, 1, 32}, 0.01f),
        middle(shared.extents, 128);
    store(integers.view(), scales.view(), zeros.view(), source.view(), 0);
    auto const key = block_scaled(integers, scales, zeros), value = block_scaled(integers, shared, middle);
    tensor<float, 4> got(source.extents), expected(source.extents);
    attend(ragged(offsets), decoding, source, key, value, got);
    attend(ragged(offsets), decoding, source, stood_for(key), stood_for(value), expected);
    testing::check_close<float, float>("result", expected.elements, got.elements, {1e-6, 1e-6});
}

TEST_CASE("pages have scales and zero points of their own, or for all of their positions", "[spec]") {
    testing::dice random(7);
    constexpr index_t slots = 8, features = 32;
    std::vector<std::int32_t> const entries{5, 0, 3, 6, 2, 1};
    view<std::int32_t const, 2> const table(entries.data(), {2, 3});
    extents_t<4> const of_pages{7, 2, slots, features};
    tensor<std::uint8_t, 4> key_pages(of_pages);
    tensor<std::int8_t, 4> value_pages(of_pages);
    tensor<float, 4> key_scales({7, 2, 1, 1}, 0), key_zeros({7, 2, 1, 1}, 0), value_scales({1, 2, 1, features}, 0.008f);
    for (float& x : key_scales) x = static_cast<float>(random.real(0.0105, 0.0135));
    for (float& x : key_zeros) x = static_cast<float>(random.between(100, 150));
    tensor<float, 4> positions({7, 2, slots, 1}), zeros(positions.extents), scales_of_one({2, 2, 3 * slots, 1}),
        zeros_of_one(scales_of_one.extents);
    tensor<std::uint8_t, 4> in_pages(of_pages), in_one({2, 2, 3 * slots, features});
    for (index_t first : {0, 1, 9, 23}) {
        auto const rows = testing::random_tensor<float, 4>(random, {2, 2, first == 0 ? 3 * slots : 1, features});
        store(key_pages.view(), key_scales.view(), key_zeros.view(), table, rows.view(), first);
        store(value_pages.view(), value_scales.view(), table, rows.view(), first);
        store(in_pages.view(), positions.view(), zeros.view(), table, rows.view(), first);
        store(in_one.view(), scales_of_one.view(), zeros_of_one.view(), rows.view(), first);
    }
    auto const key = block_scaled(paged(key_pages, table), paged(key_scales, table), paged(key_zeros, table));
    auto const value = block_scaled(paged(value_pages, table), value_scales);
    auto const own = block_scaled(paged(in_pages, table), paged(positions, table), paged(zeros, table));
    testing::check_source(key);
    testing::check_source(value);
    testing::check_source(own);
    CHECK(stood_for(own).elements == stood_for(block_scaled(in_one, scales_of_one, zeros_of_one)).elements);
    auto const keys = stood_for(key), values = stood_for(value);
    for (index_t b = 0; b < 2; ++b)
        for (index_t h = 0; h < 2; ++h)
            for (index_t n = 0; n < 3 * slots; ++n)
                for (index_t c = 0; c < features; ++c) {
                    index_t const page = table(b, n / slots), slot = n % slots;
                    CHECK(keys(b, h, n, c)
                          == key_scales(page, h, 0, 0)
                                 * (static_cast<float>(key_pages(page, h, slot, c)) - key_zeros(page, h, 0, 0)));
                    CHECK(std::abs(values(b, h, n, c) - keys(b, h, n, c)) < 0.011f);  // of the same rows
                }
    for (index_t const queries : {1, 20}) {
        auto const query = testing::random_tensor<float, 4>(random, {2, 2, queries, features});
        tensor<float, 4> got(query.extents), expected(query.extents), defined(query.extents);
        attend(decoding, query, key, value, got);
        attend(decoding, query, keys, values, expected);
        reference::attend(decoding, query, key, value, defined);
        testing::check_close<float, float>("result", expected.elements, got.elements, {1e-5, 1e-5});
        testing::check_close<float, float>("definition", defined.elements, got.elements, {1e-5, 1e-5});
    }
}

TEST_CASE("scales in pages of one position each belong to these, whatever the pages of the integers", "[spec]") {
    constexpr index_t positions = 12, features = 6;
    testing::dice random(8);
    tensor<std::int8_t, 4> integers({1, 2, positions, features});
    for (auto& x : integers) x = static_cast<std::int8_t>(random.between(-100, 100));
    auto const scales = testing::random_tensor<float>(random, extents_t<4>{positions, 2, 1, 3});
    tensor<std::int32_t, 2> each({1, positions}), halves({1, 2}, 0);
    for (index_t n = 0; n < positions; ++n) each(0, n) = static_cast<std::int32_t>(positions - 1 - n);
    halves(0, 1) = 1;
    tensor<std::int8_t, 4> pages({2, 2, positions / 2, features});
    for (index_t n = 0; n < positions; ++n)
        for (index_t h = 0; h < 2; ++h)
            for (index_t c = 0; c < features; ++c)
                pages(n / (positions / 2), h, n % (positions / 2), c) = integers(0, h, n, c);
    auto const check = [&](auto const& rows) {
        rows.check("key");
        REQUIRE(rows.extent(2) == positions);
        for (index_t n = 0; n < positions; ++n)
            for (index_t h = 0; h < 2; ++h)
                for (index_t c = 0; c < features; ++c)
                    CHECK(rows(0, h, n, c) == scales(each(0, n), h, 0, c / 2) * integers(0, h, n, c));
    };
    check(block_scaled(integers, paged(scales, each)));
    check(block_scaled(paged(pages, halves), paged(scales, each)));
}

TEST_CASE("scales and zero points that do not fit are refused before anything is written", "[spec]") {
    tensor<std::int8_t, 4> integers({2, 3, 10, 12}, 7);
    auto const refuses = [&](extents_t<4> const& of_scales, extents_t<4> const& of_zeros, char const* sentence) {
        tensor<float, 4> scales(of_scales, 1), zeros(of_zeros, 1);
        tensor<float, 4> const source({2, 3, 1, 12}, 1);
        CHECK_THROWS_WITH(store(integers.view(), scales.view(), zeros.view(), source.view(), 0),
                          ContainsSubstring(sentence));
        CHECK_THROWS_WITH(block_scaled(integers, scales, zeros).check("key"),
                          ContainsSubstring(std::string(sentence).substr(std::string("store: the cache").size())));
    };
    refuses({2, 3, 9, 1}, {2, 3, 10, 1},
            "store: the cache has integers (2, 3, 10, 12) and scales (2, 3, 9, 1): they differ along axis 2");
    refuses({2, 3, 10, 1}, {2, 4, 10, 1},
            "store: the cache has integers (2, 3, 10, 12) and zeros (2, 4, 10, 1): they differ along axis 1");
    refuses({1, 3, 1, 5}, {1, 3, 1, 5},
            "store: the cache has 12 features and 5 scales for each position: features must be a multiple of scales");
    refuses({1, 3, 1, 12}, {1, 1, 1, 1}, "store: the cache has 12 scales and 1 zero for each position");
    tensor<float, 4> scales({2, 3, 10, 1}, 1);
    tensor<float, 4> const source({2, 3, 2, 12}, 1);
    CHECK_THROWS_WITH(store(integers.view(), scales.view(), source.view(), 9),
                      ContainsSubstring("store: source has 2 positions from 9 on, and the cache has 10"));
    for (auto const x : integers.elements) CHECK(x == 7);
    for (auto const x : scales.elements) CHECK(x == 1);
}

TEST_CASE("memory that cannot be read or written, or that is both, is refused before anything is written", "[spec]") {
    tensor<std::int8_t, 4> integers({1, 2, 4, 8}, 7);
    tensor<float, 4> scales({1, 2, 4, 1}, 1), zeros({1, 2, 4, 1}, 1), source({1, 2, 1, 8}, 1);
    auto const refuses = [&](view<float, 4> const& by, view<float, 4> const& from, view<float const, 4> const& rows,
                             char const* sentence) {
        CHECK_THROWS_WITH(store(integers.view(), by, from, rows, 0), ContainsSubstring(sentence));
    };
    view<float, 4> const nowhere(nullptr, scales.extents);
    view<float, 4> const over_integers(reinterpret_cast<float*>(integers.data()), scales.extents);
    view<float, 4> const one_slot(scales.data(), scales.extents, {2, 1, 0, 1});
    view<float, 4> const rows_in_scales(scales.data(), {1, 2, 1, 8}, {0, 0, 0, 1});
    view<float const, 4> const rows = source.view(), no_rows(nullptr, source.extents);
    refuses(nowhere, zeros.view(), rows, "store: the scales");
    refuses(scales.view(), nowhere, rows, "store: the zero points");
    refuses(scales.view(), zeros.view(), no_rows, "source");
    refuses(over_integers, zeros.view(), rows, "store: the cache");
    refuses(scales.view(), scales.view(), rows, "store: the cache");
    refuses(scales.view(), zeros.view(), rows_in_scales, "store: the cache");
    for (auto const x : integers.elements) CHECK(x == 7);
    for (auto const x : scales.elements) CHECK(x == 1);
    CHECK_NOTHROW(store(integers.view(), one_slot, zeros.view(), rows, 0));  // scales that positions share are read
}
