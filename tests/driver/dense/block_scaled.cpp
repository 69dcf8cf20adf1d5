// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Rows that are loaded: the same as the numbers that they stand for, in every traversal.
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/source_laws.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"

#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// Where scales differ: everywhere, or one is for all heads, or for all batch elements and positions.
enum class scaled_by { position, sequence_position, channel };

/// Rows in 8 bits with a scale for each block of features, and the numbers that they stand for.
struct quantised {
    tensor<std::int8_t, 4> integers;
    tensor<float, 4> scales, numbers;

    quantised(testing::dice& random, index_t heads, index_t positions, index_t features, index_t block,
              scaled_by by = scaled_by::position)
        : integers({2, heads, positions, features}),
          scales({by == scaled_by::channel ? 1 : 2, by == scaled_by::sequence_position ? 1 : heads,
                  by == scaled_by::channel ? 1 : positions, features / block}),
          numbers(integers.extents) {
        for (auto& x : integers) x = static_cast<std::int8_t>(random.between(-127, 127));
        for (auto& x : scales) x = static_cast<float>(random.between(1, 64)) / 4096;
        for (index_t b = 0; b < 2; ++b)
            for (index_t h = 0; h < heads; ++h)
                for (index_t n = 0; n < positions; ++n)
                    for (index_t c = 0; c < features; ++c)
                        numbers(b, h, n, c) =
                            scales(std::min(b, scales.extent(0) - 1), std::min(h, scales.extent(1) - 1),
                                   std::min(n, scales.extent(2) - 1), c / block)
                            * static_cast<float>(integers(b, h, n, c));
    }
    auto rows() const { return block_scaled(integers, scales); }
};

template <class Spec>
void check_spec(Spec const& spec, index_t queries, index_t keys, index_t group = 2, index_t features = 64,
                index_t value_features = 32, scaled_by by = scaled_by::position, index_t block = 32) {
    testing::dice random(static_cast<unsigned>(queries + 100 * keys));
    quantised const key(random, 2, keys, features, block, by),
        value(random, 2, keys, value_features, std::gcd(block, value_features), by);
    auto const query = testing::random_tensor<float, 4>(random, {2, 2 * group, queries, features});
    tensor<float, 4> got({2, 2 * group, queries, value_features}), expected(got.extents);
    attend(threads(2), spec, query, key.rows(), value.rows(), got);
    attend(threads(2), spec, query, key.numbers, value.numbers, expected);
    CAPTURE(queries, keys, group, features);
    testing::check_close<float, float>("result", expected.elements, got.elements, {1e-5, 1e-5});
}

template <class Spec>
void check_lengths(Spec const& spec) {
    for (index_t queries : {1, 3, 40})
        for (index_t keys : {1, 33, 700}) check_spec(spec, queries, keys);
    check_spec(spec, 130, 600, 1, 32, 48);
}

}  // namespace

TEST_CASE("integers with scales by blocks obey the laws of a source", "[driver]") {
    testing::dice random(3);
    for (index_t block : {1, 4, 32}) {
        quantised q(random, 3, 41, 64, block);
        testing::check_source(q.rows());
        q.scales(1, 2, 40, 0) = std::numeric_limits<float>::infinity();
        q.scales(0, 1, 7, 0) = std::numeric_limits<float>::quiet_NaN();
        testing::check_source(q.rows());
    }
}

TEST_CASE("rows that are loaded give what their numbers give", "[driver]") {
    SECTION("plain") { check_lengths(scaled_dot | softmax | weighted_sum); }
    SECTION("masked") { check_lengths(scaled_dot | softcap(2) | causal_at_end | softmax | weighted_sum); }
    SECTION("whole rows") { check_lengths(scaled_dot | sparsemax | weighted_sum); }
    SECTION("one key wins") { check_lengths(scaled_dot | hardmax | weighted_sum); }
    SECTION("distances") { check_lengths(l1_distance(8) | softmax | weighted_sum); }
    SECTION("terms of keys") { check_lengths(gaussian(4) | softmax | weighted_sum); }
    SECTION("terms of keys that read tables alone") {
        testing::dice random(5);
        auto const place = testing::random_tensor<float, 2>(random, {700, 2});
        auto const x = param(place);
        check_lengths(scaled_dot | where(square(x(q_idx, 0) - x(kv_idx, 1)) < 0.5f) | softmax | weighted_sum);
    }
    SECTION("maxima") { check_lengths(scaled_dot | softmax | max_pool); }
    SECTION("a running state") { check_lengths(dot | unnormalized | running_state); }
    SECTION("split keys") { check_spec(scaled_dot | softmax | weighted_sum, 1, 5000, 4); }
    SECTION("a graph") {
        std::vector<graph::edge> edges;
        testing::dice random(8);
        for (index_t i = 0; i < 40; ++i)
            for (index_t e = 0; e < 5; ++e) edges.push_back({i, random.between(0, 699)});
        graph const listed(40, edges);
        check_spec(scaled_dot | neighbors(listed) | softmax | weighted_sum, 40, 700);
    }
}

TEST_CASE("scales may be those of heads, of positions, or of features", "[driver]") {
    for (auto const by : {scaled_by::position, scaled_by::sequence_position, scaled_by::channel})
        for (index_t const block : {1, 4, 32})
            for (index_t const queries : {1, 3, 40})
                check_spec(scaled_dot | softmax | weighted_sum, queries, 333, 2, 64, 32, by, block);
    for (index_t const block : {1, 4, 12, 36})
        for (index_t const queries : {1, 5})
            check_spec(scaled_dot | softmax | weighted_sum, queries, 77, 2, 36, 36, scaled_by::position, block);
}

TEST_CASE("integers and scales may lie in pages", "[driver]") {
    testing::dice random(4);
    index_t const slots = 16, count = 20;
    quantised const key(random, 2, slots * count, 64, 32);
    tensor<std::int8_t, 4> pages({2 * count, 2, slots, 64});
    tensor<float, 4> scale_pages({2 * count, 2, slots, 2});
    tensor<std::int32_t, 2> table({2, count});
    for (index_t b = 0; b < 2; ++b)
        for (index_t p = 0; p < count; ++p) {
            table(b, p) = static_cast<std::int32_t>((7 * p + 3) % count + b * count);
            for (index_t h = 0; h < 2; ++h)
                for (index_t s = 0; s < slots; ++s) {
                    for (index_t c = 0; c < 64; ++c) pages(table(b, p), h, s, c) = key.integers(b, h, p * slots + s, c);
                    for (index_t c = 0; c < 2; ++c)
                        scale_pages(table(b, p), h, s, c) = key.scales(b, h, p * slots + s, c);
                }
        }
    auto const paged_rows = block_scaled(paged(pages, table), paged(scale_pages, table));
    testing::check_source(paged_rows);
    auto const page_scales = testing::random_tensor<float, 4>(random, {2 * count, 2, 1, 1}, 0.01);
    auto const of_page = block_scaled(paged(pages, table), paged(page_scales, table));  // one for a page and head
    testing::check_source(of_page);
    auto numbers_of_page = key.numbers;
    for (index_t b = 0; b < 2; ++b)
        for (index_t h = 0; h < 2; ++h)
            for (index_t n = 0; n < slots * count; ++n)
                for (index_t c = 0; c < 64; ++c)
                    numbers_of_page(b, h, n, c) =
                        page_scales(table(b, n / slots), h, 0, 0) * static_cast<float>(key.integers(b, h, n, c));
    for (index_t queries : {1, 50}) {
        auto const query = testing::random_tensor<float, 4>(random, {2, 4, queries, 64});
        tensor<float, 4> got({2, 4, queries, 64}), expected(got.extents);
        auto const spec = scaled_dot | softmax | weighted_sum;
        attend(spec, query, of_page, of_page, got);
        attend(spec, query, numbers_of_page, numbers_of_page, expected);
        testing::check_close<float, float>("result", expected.elements, got.elements, {1e-5, 1e-5});
        attend(spec, query, paged_rows, paged_rows, got);
        attend(spec, query, key.numbers, key.numbers, expected);
        testing::check_close<float, float>("result", expected.elements, got.elements, {1e-5, 1e-5});
        tensor<float, 4> defined(got.extents);
        reference::attend(spec, query, paged_rows, paged_rows, defined);
        testing::check_close<float, float>("definition", defined.elements, got.elements, {1e-5, 1e-5});
    }
    table(1, 3) = -1;
    tensor<float, 4> const query({2, 4, 1, 64}, 1);
    tensor<float, 4> result({2, 4, 1, 64}, 7);
    CHECK_THROWS_WITH(attend(scaled_dot | softmax | weighted_sum, query, paged_rows, paged_rows, result),
                      Catch::Matchers::Matches("key has no page for position (4[89]|5.|6[0-3]) of batch 1, where .*"));
    CHECK(result.elements.front() == 7);
}

TEST_CASE("scales that are not finite, where nobody looks, do not show", "[driver]") {
    testing::dice random(5);
    quantised key(random, 2, 300, 64, 32), value(random, 2, 300, 32, 16);
    for (index_t h = 0; h < 2; ++h)
        for (auto* const q : {&key, &value})
            q->scales(1, h, 299, 1) = q->scales(0, h, 120, 0) = std::numeric_limits<float>::quiet_NaN();
    auto const spec = scaled_dot | where(kv_idx != 299 && kv_idx != 120) | softmax | weighted_sum;
    for (index_t queries : {1, 60}) {
        auto const query = testing::random_tensor<float, 4>(random, {2, 2, queries, 64});
        tensor<float, 4> got({2, 2, queries, 32}), expected(got.extents);
        attend(spec, query, key.rows(), value.rows(), got);
        attend(spec, query, key.numbers, value.numbers, expected);
        testing::check_close<float, float>("result", expected.elements, got.elements, {1e-5, 1e-5});
    }
}

TEST_CASE("scales that do not fit their integers are refused", "[driver]") {
    tensor<std::int8_t, 4> const integers({1, 2, 5, 12});
    tensor<float, 4> const query({1, 2, 3, 12}, 1), value({1, 2, 5, 4}, 1);
    tensor<float, 4> result({1, 2, 3, 4}, 7);
    auto const refuses = [&](tensor<float, 4> const& scales, std::string const& sentence) {
        CHECK_THROWS_WITH(
            attend(scaled_dot | softmax | weighted_sum, query, block_scaled(integers, scales), value, result),
            sentence);
        for (float const x : result.elements) CHECK(x == 7);
    };
    refuses(tensor<float, 4>({1, 2, 4, 3}),
            "key has integers (1, 2, 5, 12) and scales (1, 2, 4, 3): they differ along axis 2");
    refuses(tensor<float, 4>({1, 2, 5, 5}),
            "key has 12 features and 5 scales for each position: features must be a multiple of scales");
    refuses(tensor<float, 4>({1, 2, 5, 0}),
            "key has 12 features and 0 scales for each position: features must be a multiple of scales");
    tensor<float, 4> const scales({1, 2, 5, 3}, 1);
    CHECK_NOTHROW(attend(scaled_dot | softmax | weighted_sum, query, block_scaled(integers, scales), value, result));
    std::vector<float> memory(40, 1.0f);
    view<float const, 4> const in_result(memory.data(), {1, 2, 5, 3});
    view<float, 4> const over(memory.data() + 10, {1, 2, 3, 4});
    CHECK_THROWS_WITH(
        attend(scaled_dot | softmax | weighted_sum, query, block_scaled(integers, in_result), value, over),
        "result overlaps key's scales in memory: it would be overwritten while it is read");
}
