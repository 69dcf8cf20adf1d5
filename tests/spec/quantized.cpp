// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of blocks: the same as the numbers that they stand for, wherever they lie, and what store writes of rows.
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/source_laws.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"

#include <limits>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A cache of blocks, and the numbers that these stand for.
template <class Block>
struct cache {
    std::vector<Block> blocks;
    extents_t<4> extents;
    tensor<float, 4> numbers;

    cache(testing::dice& random, index_t heads, index_t positions, index_t features)
        : blocks(static_cast<std::size_t>(2 * heads * positions * features / Block::size)),
          extents{2, heads, positions, features / Block::size},
          numbers({2, heads, positions, features}) {
        auto const source = testing::random_tensor<float, 4>(random, numbers.extents);
        store(view<Block, 4>(blocks.data(), extents), view<float const, 4>(source), 0);
        for (index_t i = 0; i < numbers.size(); ++i)
            numbers.data()[i] = blocks[static_cast<std::size_t>(i / Block::size)].number(i % Block::size);
    }
    auto rows() const { return quantized(view<Block const, 4>(blocks.data(), extents)); }
};

template <class Key, class Value, class Spec>
void check_spec(Spec const& spec, index_t queries, index_t keys, index_t features = 64) {
    testing::dice random(static_cast<unsigned>(queries + 100 * keys));
    cache<Key> const key(random, 2, keys, features);
    cache<Value> const value(random, 2, keys, 32);
    auto const query = testing::random_tensor<float, 4>(random, {2, 4, queries, features});
    tensor<float, 4> got({2, 4, queries, 32}), expected(got.extents), defined(got.extents);
    attend(threads(2), spec, query, key.rows(), value.rows(), got);
    attend(threads(2), spec, query, key.numbers, value.numbers, expected);
    reference::attend(spec, query, key.rows(), value.rows(), defined);
    CAPTURE(queries, keys, features);
    testing::check_close<float, float>("result", expected.elements, got.elements, {1e-5, 1e-5});
    testing::check_close<float, float>("definition", defined.elements, got.elements, {1e-5, 1e-5});
}

/// Signs alone, with one size: a format of one's own.
struct signs {
    static constexpr index_t size = 8;
    float scale;
    std::uint8_t bits;

    float number(index_t i) const { return bits >> i & 1 ? -scale : scale; }
    void numbers(auto* to) const {
        for (index_t i = 0; i < size; ++i) to[i] = static_cast<std::remove_pointer_t<decltype(to)>>(number(i));
    }
    bool finite() const { return scale - scale == 0; }
    static signs rounded(float const* from) {
        signs block{0, 0};
        for (index_t i = 0; i < size; ++i) {
            block.scale += std::abs(from[i]) / 8;
            if (from[i] < 0) block.bits = static_cast<std::uint8_t>(block.bits | 1 << i);
        }
        return block;
    }
};

}  // namespace

TEST_CASE("rows of blocks obey the laws of a source", "[spec]") {
    testing::dice random(3);
    testing::check_source(cache<q8_0>(random, 3, 41, 64).rows());
    testing::check_source(cache<q4_0>(random, 1, 7, 32).rows());
    cache<q4_1> with_infinity(random, 2, 9, 96);
    with_infinity.blocks[20].least = float16(std::numeric_limits<float>::infinity());
    testing::check_source(with_infinity.rows());
}

TEST_CASE("rows of blocks give what their numbers give", "[spec]") {
    constexpr auto decoding = scaled_dot | softcap(2) | causal_at_end | softmax | weighted_sum;
    for (index_t queries : {1, 3, 40})
        for (index_t keys : {1, 33, 700}) {
            check_spec<q8_0, q4_0>(decoding, queries, keys);
            check_spec<q4_1, q8_0>(decoding, queries, keys, 96);
        }
    check_spec<signs, q4_1>(scaled_dot | sparsemax | weighted_sum, 2, 300);
    check_spec<signs, q4_1>(decoding, 2, 300, 24);
    auto const ranges = compare(sum(q * k, features(0, 8)) + sum(q * k, features(24, 57)));  // not along blocks
    for (index_t queries : {1, 3, 40}) check_spec<q8_0, q4_0>(ranges | softmax | weighted_sum, queries, 33);
    check_spec<q8_0, signs>(gaussian(4) | softmax | weighted_sum, 2, 300);
}

namespace {
constexpr auto rounding = scaled_dot | softcap(2) | causal_at_end | softmax | weighted_sum;

/// The nearest multiples of the largest number / 127, 32 numbers at a time.
tensor<float, 4> in_blocks_of_integers(tensor<float, 4> rows) {
    for (std::size_t first = 0; first < rows.elements.size(); first += 32) {
        double largest = 0;
        for (std::size_t i = first; i < first + 32; ++i)
            largest = std::max(largest, std::abs(static_cast<double>(rows.elements[i])));
        if (largest == 0 || std::isinf(largest)) continue;
        for (std::size_t i = first; i < first + 32; ++i)
            rows.elements[i] =
                static_cast<float>(std::round(static_cast<double>(rows.elements[i]) * 127 / largest) * largest / 127);
    }
    return rows;
}

template <class Key, class Value>
void check_rounded(tensor<float, 4> const& query, index_t keys) {
    testing::dice random(static_cast<unsigned>(keys));
    index_t const rows = query.extent(2) * query.extent(1) / 2;
    cache<Key> const key(random, 2, keys, query.extent(3));
    cache<Value> const value(random, 2, keys, 32);
    tensor<float, 4> got({2, query.extent(1), query.extent(2), 32}), expected(got.extents);
    attend(threads(2), rounding | precision(q8), query, key.rows(), value.rows(), got);
    auto const plan = explain(rounding | precision(q8), query, key.rows(), value.rows(), got);
    bool const rounds = plan.find("precision   q8") != std::string::npos;
    CHECK(rounds == (4 * rows < 3 * kernel::pack<float, arch::best>::lanes));
    reference::attend(rounding, rounds ? in_blocks_of_integers(query) : query, key.rows(), value.rows(), expected);
    CAPTURE(query.extents, keys);
    testing::check_close<float, float>("rounded", expected.elements, got.elements, {1e-5, 1e-5});
}
}  // namespace

TEST_CASE("queries are rounded to integers where that is asked for, and where the plan says so", "[spec]") {
    struct sizes {
        index_t heads, queries;
    };
    for (auto const [heads, queries] : {sizes{2, 1}, {8, 1}, {2, 4}, {4, 4}, {2, 9}, {4, 40}})
        for (index_t keys : {1, 33, 700}) {
            testing::dice random(static_cast<unsigned>(queries + 10 * keys));
            auto const query = [&](index_t features) {
                return testing::random_tensor<float, 4>(random, {2, heads, queries, features});
            };
            check_rounded<q8_0, q4_0>(query(64), keys);
            check_rounded<q4_1, q8_0>(query(96), keys);
        }
    testing::dice random(1);
    cache<q8_0> const key(random, 2, 5, 64);
    cache<q4_0> const value(random, 2, 5, 32);
    tensor<float, 4> const narrow({2, 2, 1, 40});
    tensor<float, 4> result({2, 2, 1, 32});
    CHECK_THROWS_WITH(attend(threads(2), rounding | precision(q8), narrow, key.rows(), value.rows(), result),
                      ContainsSubstring("features"));
}

TEST_CASE("rounded queries that are 0, infinite or NaN give what numbers give", "[spec]") {
    testing::dice random(4);
    auto query = testing::random_tensor<float, 4>(random, {2, 2, 1, 64});
    query(0, 0, 0, 3) = std::numeric_limits<float>::quiet_NaN();
    query(0, 1, 0, 40) = -std::numeric_limits<float>::infinity();
    std::fill_n(query.data() + 128, 64, 0.0f);
    check_rounded<q8_0, q4_0>(query, 33);
}

TEST_CASE("a value that is not finite shows where its position is seen", "[spec]") {
    testing::dice random(8);
    cache<q8_0> const key(random, 1, 70, 32);
    cache<q8_0> value(random, 1, 70, 32);
    value.blocks[69].scale = float16(std::numeric_limits<float>::infinity());
    auto const query = testing::random_tensor<float, 4>(random, {2, 1, 2, 32});
    tensor<float, 4> result(query.extents);
    attend(scaled_dot | causal_at_end | softmax | weighted_sum, query, key.rows(), value.rows(), result);
    for (index_t c = 0; c < 32; ++c) {
        CHECK(std::isfinite(result(0, 0, 0, c)));
        CHECK_FALSE(std::isfinite(result(0, 0, 1, c)));
    }
}

TEST_CASE("blocks of a ragged batch are those of each sequence", "[spec]") {
    testing::dice random(6);
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    std::vector<index_t> const offsets{0, 4, 4, 29};
    cache<q8_0> const key(random, 1, 29, 32);
    auto const one = quantized(view<q8_0 const, 4>(key.blocks.data(), {1, 1, 29, 1}));
    view<float const, 4> const numbers(key.numbers.data(), {1, 1, 29, 32});
    auto const query = testing::random_tensor<float, 4>(random, {1, 1, 29, 32});
    tensor<float, 4> got(query.extents), expected(query.extents);
    attend(ragged(offsets), spec, query, one, one, got);
    attend(ragged(offsets), spec, query, numbers, numbers, expected);
    testing::check_close<float, float>("result", expected.elements, got.elements, {1e-6, 1e-6});

    std::vector<index_t> const steps{0, 1, 1, 3};  // of decoding
    auto const few = testing::random_tensor<float, 4>(random, {1, 1, 3, 32}), rounded = in_blocks_of_integers(few);
    tensor<float, 4> decoded(few.extents), of_rounded(few.extents);
    attend(ragged(steps, offsets), spec | precision(q8), few, one, one, decoded);
    attend(ragged(steps, offsets), spec, rounded, numbers, numbers, of_rounded);
    testing::check_close<float, float>("rounded", of_rounded.elements, decoded.elements, {1e-5, 1e-5});
}

TEST_CASE("rows are stored in pages as in one array", "[spec]") {
    testing::dice random(5);
    constexpr index_t page_size = 16, features = 64;
    std::vector<q8_0> in_pages(7 * 2 * page_size * 2), in_one(2 * 2 * 48 * 2);
    view<q8_0, 4> const pages(in_pages.data(), {7, 2, page_size, 2}), one(in_one.data(), {2, 2, 48, 2});
    std::vector<std::int32_t> const entries{5, 0, 3, 6, 2, 1};
    view<std::int32_t const, 2> const table(entries.data(), {2, 3});
    for (index_t first : {0, 1, 20, 47}) {
        auto const rows = testing::random_tensor<float, 4>(random, {2, 2, first == 0 ? 48 : 1, features});
        store(one, view<float const, 4>(rows), first);
        store(pages, table, view<float const, 4>(rows), first);
    }
    auto const query = testing::random_tensor<float, 4>(random, {2, 2, 3, features});
    tensor<float, 4> got(query.extents), expected(query.extents);
    constexpr auto spec = scaled_dot | softmax | weighted_sum;
    auto const of_pages = quantized(paged(view<q8_0 const, 4>(pages), table));
    auto const of_one = quantized(view<q8_0 const, 4>(one));
    attend(spec, query, of_pages, of_pages, got);
    attend(spec, query, of_one, of_one, expected);
    testing::check_close<float, float>("result", expected.elements, got.elements, {1e-6, 1e-6});
    auto const last = testing::random_tensor<float, 4>(random, {2, 2, 1, features});
    auto const rounded = in_blocks_of_integers(last);
    tensor<float, 4> decoded(last.extents), of_rounded(last.extents);
    attend(spec | precision(q8), last, of_pages, of_pages, decoded);
    attend(spec, rounded, of_one, of_one, of_rounded);
    testing::check_close<float, float>("rounded", of_rounded.elements, decoded.elements, {1e-5, 1e-5});
}

TEST_CASE("store writes nothing where rows do not fit the cache", "[spec]") {
    std::vector<q8_0> memory(2 * 3 * 10 * 2, q8_0{});
    view<q8_0, 4> const cache(memory.data(), {2, 3, 10, 2});
    std::vector<std::int32_t> const entries{1, -1};
    view<std::int32_t const, 2> const table(entries.data(), {1, 2});
    auto const rows = [](extents_t<4> const& extents) { return tensor<float, 4>(extents, 1); };
    auto const refuses = [&](extents_t<4> const& extents, index_t first, char const* what) {
        auto const source = rows(extents);
        CHECK_THROWS_WITH(store(cache, view<float const, 4>(source), first), ContainsSubstring(what));
    };
    refuses({2, 3, 1, 32}, 0, "store: source is (2, 3, 1, 32) and the cache holds 2 x 3 heads of 64 features");
    refuses({1, 3, 1, 64}, 0, "the cache holds");
    refuses({2, 3, 2, 64}, 9, "store: source has 2 positions from 9 on, and the cache has 10");
    refuses({2, 3, 1, 64}, -1, "from -1 on");
    auto const source = rows({1, 3, 4, 64});
    CHECK_THROWS_WITH(store(cache, table, view<float const, 4>(source), 8),
                      ContainsSubstring("store: position 10 of batch 0 has page -1 in the table, of 2 pages"));
    CHECK_THROWS_WITH(store(cache, view<float const, 4>(nullptr, {2, 3, 1, 64}), 0),
                      "source is (2, 3, 1, 64) and its data is a null pointer");
    CHECK_THROWS_WITH(store(cache, view<float const, 4>(source.data(), {2, 3, -1, 64}), 0),
                      "source has extent -1 along axis 2: it must be 0 or more");
    CHECK_THROWS_WITH(store(cache, view<std::int8_t const, 4>(&memory[70].integers[0], {2, 3, 1, 64}), 0),
                      "store: the cache overlaps source in memory: it would be overwritten while it is read");
    CHECK_THROWS_WITH(store(view<q8_0, 4>(memory.data(), {2, 3, 10, 2}, {0, 20, 2, 1}),
                            view<float const, 4>(nullptr, {2, 3, 0, 64}), 0),
                      "store: the cache has stride 0 along axis 0: its elements would be written twice");
    CHECK_THROWS_WITH(store(cache, view<std::int32_t const, 2>(nullptr, {1, 2}), view<float const, 4>(source), 0),
                      "the table is (1, 2) and its data is a null pointer");
    for (auto const& block : memory) CHECK(block.scale.bits == 0);
}
