// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cache in pages: after any steps its sequences hold what was appended to them, and attention over a batch of them is
// that over one array for each.
#include <fovea/fovea.hpp>
#include <fovea/kv_cache.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"

#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr kv_sizes sizes{.heads = 2, .key_features = 32, .value_features = 64, .pages = 24, .page_size = 4};

/// The rows of one sequence, position after position, and which of them have not been evicted.
struct rows {
    std::vector<float> keys, values;  // (position, head, feature)
    std::vector<bool> there;
    index_t length() const { return std::ssize(there); }
    void resize(index_t n) {
        keys.resize(static_cast<std::size_t>(n * 2 * 32));
        values.resize(static_cast<std::size_t>(n * 2 * 64));
        there.resize(static_cast<std::size_t>(n), true);
    }
    void add(index_t count, testing::dice& random) {
        auto const before = length();
        resize(before + count);
        for (auto i = before * 2 * 32; i < std::ssize(keys); ++i)
            keys[static_cast<std::size_t>(i)] = static_cast<float>(random.real(-1, 1));
        for (auto i = before * 2 * 64; i < std::ssize(values); ++i)
            values[static_cast<std::size_t>(i)] = static_cast<float>(random.real(-1, 1));
    }
    view<float const, 4> key_view(index_t first, index_t count) const { return of(keys, 32, first, count); }
    view<float const, 4> value_view(index_t first, index_t count) const { return of(values, 64, first, count); }

private:
    static view<float const, 4> of(std::vector<float> const& all, index_t features, index_t first, index_t count) {
        return {all.data() + first * 2 * features, {1, 2, count, features}, {0, features, 2 * features, 1}};
    }
};

/// Each slot of each sequence has the position and the rows that it should have, no position is missing, each page has
/// one of them, and pages that no sequence has are free.
void check_contents(kv_cache<float> const& cache, std::map<index_t, rows> const& expected) {
    std::set<std::int32_t> owned;
    for (auto const& [number, own] : expected) {
        REQUIRE(cache.length(number) == own.length());
        auto const batch = cache.batch(std::span(&number, 1));
        auto const keys = batch.keys();
        auto const values = batch.values();
        auto const positions = batch.positions();
        REQUIRE(positions.extents == extents_t<2>{1, keys.extent(2)});
        index_t next = 0;
        std::set<index_t> pages;
        auto const skip_evicted = [&] {
            while (next < own.length() && !own.there[static_cast<std::size_t>(next)]) ++next;
        };
        for (index_t slot = 0; slot < keys.extent(2); ++slot) {
            if (positions(0, slot) == -1) continue;
            skip_evicted();
            REQUIRE(positions(0, slot) == next);
            REQUIRE(next < own.length());
            REQUIRE(slot % sizes.page_size == next % sizes.page_size);
            pages.insert(next / sizes.page_size);
            for (index_t h = 0; h < 2; ++h) {
                REQUIRE(keys(0, h, slot, 5) == own.key_view(next, 1)(0, h, 0, 5));
                REQUIRE(values(0, h, slot, 63) == own.value_view(next, 1)(0, h, 0, 63));
            }
            ++next;
        }
        skip_evicted();
        REQUIRE(next == own.length());
        REQUIRE(keys.table.size() == std::ssize(pages));
        owned.insert(keys.table.data, keys.table.data + keys.table.size());
    }
    REQUIRE(cache.free_pages() + std::ssize(owned) == sizes.pages);
}

/// One step drawn at random, of the cache and of what it should hold; what is refused changes neither.
void take_step(kv_cache<float>& cache, std::map<index_t, rows>& expected, testing::dice& random) {
    index_t const what = random.between(0, 11);
    if (expected.empty() || what == 0) {
        auto const number = cache.add();
        REQUIRE(expected.count(number) == 0);
        expected[number] = {};
        return;
    }
    auto one = expected.begin();
    std::advance(one, random.between(0, std::ssize(expected) - 1));
    auto& [number, own] = *one;
    auto const place = [&] { return random.between(-1, own.length() + 1); };
    try {
        if (what == 1) {
            auto const copy = own;
            expected[cache.fork(number)] = copy;
        } else if (what == 2) {
            cache.remove(number);
            expected.erase(one);
        } else if (what == 3) {
            index_t const kept = place();
            cache.truncate(number, kept);
            own.resize(kept);
        } else if (what <= 5) {
            index_t const first = place(), last = place();
            cache.evict(number, first, last);
            for (index_t n = first; n < last; ++n) own.there[static_cast<std::size_t>(n)] = false;
        } else {
            index_t const count = random.between(0, 9);
            auto more = own;
            more.add(count, random);
            cache.append(number, more.key_view(own.length(), count), more.value_view(own.length(), count));
            own = more;
        }
    } catch (shape_error const&) {}
}

}  // namespace

TEST_CASE("sequences of a cache hold what was appended to them, whatever else happened", "[spec]") {
    for (unsigned seed = 1; seed <= 8; ++seed) {
        testing::dice random(seed);
        std::vector<float> keys(24 * 2 * 4 * 32 + 2, -7), values(24 * 2 * 4 * 64 + 2, -7);
        auto cache = seed % 2 == 0 ? kv_cache<float>(sizes)
                                   : kv_cache<float>(sizes, std::span(keys).subspan(1), std::span(values).subspan(1));
        REQUIRE(kv_cache<float>::key_elements(sizes) == std::ssize(keys) - 2);
        REQUIRE(kv_cache<float>::value_elements(sizes) == std::ssize(values) - 2);
        std::map<index_t, rows> expected;
        for (int step = 0; step < 250; ++step) {
            take_step(cache, expected, random);
            check_contents(cache, expected);
        }
        for (auto const& [number, own] : expected) cache.remove(number);
        CHECK(cache.free_pages() == sizes.pages);
        for (auto const* const memory : {&keys, &values}) CHECK((memory->front() == -7 && memory->back() == -7));
    }
}

TEST_CASE("a window of a sequence stays in its pages, and attention over it is that over all positions", "[spec]") {
    constexpr index_t sinks = 3, window = 10, heads = 4;
    testing::dice random(3);
    kv_cache<float> all(sizes),
        kept({.heads = 2, .key_features = 32, .value_features = 64, .pages = 5, .page_size = 4});
    rows own;
    std::vector<index_t> const numbers{all.add()};
    REQUIRE(kept.add() == numbers[0]);
    std::vector<float> const slopes{0.5f, 0.25f, 0.125f, 0.0625f};
    for (index_t step = 0; step < 60; ++step) {
        index_t const before = own.length(), count = step == 0 ? 5 : random.between(1, 2);
        own.add(count, random);
        for (auto* const cache : {&all, &kept})
            cache->append(numbers[0], own.key_view(before, count), own.value_view(before, count));
        auto const query = testing::random_tensor<float, 4>(random, {1, heads, count, 32});
        tensor<float, 4> expected({1, heads, count, 64}), got({1, heads, count, 64});
        auto const whole = all.batch(numbers), part = kept.batch(numbers);
        auto const past = part.past(count);
        auto const now = q_idx + param(past)[batch];
        attend(scaled_dot | alibi(slopes) | causal_from(past) | where(kv_idx < sinks || now - kv_idx < window) | softmax
                   | weighted_sum,
               query, whole.keys(), whole.values(), expected);
        auto const p = param(part.positions())[batch][kv_idx];
        auto const seen = p >= 0 && p <= now && (p < sinks || now - p < window);
        attend(scaled_dot | rescore(score + param(slopes)[head] * (p - now)) | where(seen) | softmax | weighted_sum,
               query, part.keys(), part.values(), got);
        for (index_t i = 0; i < got.size(); ++i) CHECK(got.data()[i] == Approx(expected.data()[i]).margin(1e-5));
        kept.evict(numbers[0], sinks, kept.length(numbers[0]) + 1 - window);
        if (all.free_pages() < 1) break;
    }
    CHECK(own.length() > 80);
}

TEST_CASE("keys are rotated as they are appended, at the positions of their sequence", "[spec]") {
    testing::dice random(4);
    kv_cache<float> cache(sizes);
    kv_cache<double> exact(sizes);
    std::vector<index_t> const numbers{cache.add()};
    exact.add();
    rows own;
    own.add(21, random);
    auto const turned = rotary.features(20).interleaved().from(2);
    index_t first = 0;
    for (index_t const count : {6, 1, 0, 3, 11}) {
        auto const keys = own.key_view(first, count), values = own.value_view(first, count);
        cache.append(numbers[0], keys, values, rms_normalized, turned);
        exact.append(numbers[0], keys, values);
        first += count;
        cache.evict(numbers[0], 0, first - 2);  // positions stay what they are
    }
    auto const mapped =
        reference::project<double>(as_is | rms_normalized | turned, own.key_view(0, 21), {1, 2, 21, 32});
    auto const batch_of_turned = cache.batch(numbers);
    auto const batch_of_exact = exact.batch(numbers);
    for (index_t n = 19; n < 21; ++n)
        for (index_t h = 0; h < 2; ++h)
            for (index_t c = 0; c < 32; ++c)
                CHECK(batch_of_turned.keys()(0, h, n - 16, c) == Approx(mapped(0, h, n, c)).margin(1e-5));
    CHECK(batch_of_exact.keys()(0, 1, 20, 31) == static_cast<double>(own.key_view(20, 1)(0, 1, 0, 31)));

    auto const number = cache.add();
    cache.append(number, own.key_view(0, 21), own.value_view(0, 21), rotary);
    auto const query = testing::random_tensor<float, 4>(random, {1, 4, 21, 32});
    tensor<float, 4> expected({1, 4, 21, 64}), got({1, 4, 21, 64});
    attend(project(as_is | rotary, as_is | rotary, as_is) | scaled_dot | causal | softmax | weighted_sum, query,
           own.key_view(0, 21), own.value_view(0, 21), expected);
    auto const turned_keys = cache.batch(std::span(&number, 1));
    attend(project(as_is | rotary, as_is, as_is) | scaled_dot | causal | softmax | weighted_sum, query,
           turned_keys.keys(), turned_keys.values(), got);
    for (index_t i = 0; i < got.size(); ++i) CHECK(got.data()[i] == Approx(expected.data()[i]).margin(1e-5));
}

TEST_CASE("attention over a batch of sequences is that over an array for each", "[spec]") {
    testing::dice random(9);
    kv_cache<q8_0, float16> cache(sizes);
    std::vector<index_t> numbers;
    std::vector<rows> all;
    for (index_t const length : {5, 1, 16}) {
        rows own;
        own.add(length, random);
        numbers.push_back(cache.add());
        cache.append(numbers.back(), own.key_view(0, length), own.value_view(0, length));
        all.push_back(own);
    }
    auto const together = cache.batch(numbers);
    CHECK(together.lengths() == std::vector<index_t>{5, 1, 16});
    auto const past = together.past(1);
    auto const query = testing::random_tensor<float, 4>(random, {3, 4, 1, 32});
    tensor<float, 4> got({3, 4, 1, 64}), one({1, 4, 1, 64});
    attend(scaled_dot | causal_from(past) | softmax | weighted_sum, query, together.keys(), together.values(), got);
    for (index_t b = 0; b < 3; ++b) {
        auto const& own = all[static_cast<std::size_t>(b)];
        view<float const, 4> const of_one(query.data() + b * 4 * 32, {1, 4, 1, 32});
        attend(scaled_dot | softmax | weighted_sum, of_one, own.key_view(0, own.length()),
               own.value_view(0, own.length()), one);
        for (index_t i = 0; i < one.size(); ++i)
            CHECK(got.data()[b * one.size() + i] == Approx(one.data()[i]).margin(0.02));  // of 8 bits
    }
}

TEST_CASE("pages of a fork are shared until one of them is appended to", "[spec]") {
    kv_cache<float> cache(sizes);
    rows own;
    own.resize(6);
    std::iota(own.keys.begin(), own.keys.end(), 0.0f);
    auto const first = cache.add();
    cache.append(first, own.key_view(0, 6), own.value_view(0, 6));
    CHECK(cache.free_pages() == 22);
    auto const second = cache.fork(first);
    CHECK(cache.free_pages() == 22);
    cache.append(second, own.key_view(0, 1), own.value_view(0, 1));  // copies the page of positions 4 and 5
    CHECK(cache.free_pages() == 21);
    CHECK(cache.length(first) == 6);
    cache.append(first, own.key_view(1, 1), own.value_view(1, 1));  // its own now
    CHECK(cache.free_pages() == 21);
    CHECK(cache.batch(std::span(&second, 1)).keys()(0, 0, 6, 0) == own.keys[0]);
    CHECK(cache.batch(std::span(&first, 1)).keys()(0, 0, 6, 0) == own.keys[64]);
}

TEST_CASE("a cache refuses what does not fit, and changes nothing", "[spec]") {
    kv_cache<float> cache(sizes);
    rows own;
    own.resize(97);
    auto const number = cache.add();
    CHECK_THROWS_WITH(cache.append(number, own.key_view(0, 97), own.value_view(0, 97)),
                      ContainsSubstring("97 positions more of sequence 0 need 25 pages, and 24 are free"));
    CHECK_THROWS_WITH(cache.append(number, own.key_view(0, 2), own.value_view(0, 1)), ContainsSubstring("must be"));
    using rows_of = view<float const, 4>;
    CHECK_THROWS_WITH(cache.append(number, rows_of(nullptr, {1, 2, 1, 32}), own.value_view(0, 1)),
                      "keys is (1, 2, 1, 32) and its data is a null pointer");
    CHECK_THROWS_WITH(cache.append(number, own.key_view(0, 1), rows_of(nullptr, {1, 2, 1, 64})),
                      "values is (1, 2, 1, 64) and its data is a null pointer");
    CHECK_THROWS_WITH(cache.append(number, own.key_view(0, -1), own.value_view(0, -1)),
                      "keys has extent -1 along axis 2: it must be 0 or more");
    CHECK_THROWS_WITH(cache.append(3, own.key_view(0, 1), own.value_view(0, 1)),
                      ContainsSubstring("there is no sequence 3"));
    CHECK_THROWS_WITH(cache.truncate(number, 1), ContainsSubstring("has 0 positions, not 1 to be kept"));
    CHECK_THROWS_WITH(cache.evict(number, 0, 1), ContainsSubstring("has 0 positions, and those from 0 to 1 are not"));
    CHECK_THROWS_WITH(cache.append(number, own.key_view(0, 2), own.value_view(0, 2), rotary.features(3)),
                      ContainsSubstring("rotary on keys: 3 features cannot be rotated in pairs"));
    CHECK(cache.length(number) == 0);
    CHECK(cache.free_pages() == 24);
    cache.remove(number);
    CHECK_THROWS_WITH(cache.length(number), ContainsSubstring("there is no sequence 0"));
    CHECK_THROWS_WITH(
        kv_cache<q8_0>({.heads = 1, .key_features = 40, .value_features = 32, .pages = 1, .page_size = 1}),
        ContainsSubstring("features are whole blocks"));
    std::vector<float> memory(24 * 2 * 4 * 96);
    auto const keys = std::span(memory).first(24 * 2 * 4 * 32), values = std::span(memory).subspan(keys.size());
    CHECK_THROWS_WITH(kv_cache<float>(sizes, keys.first(100), values),
                      ContainsSubstring("the memory of keys has 100 elements, and the pages need 6144"));
    CHECK_THROWS_WITH(kv_cache<float>(sizes, keys, std::span(memory).subspan(keys.size() - 1)),
                      ContainsSubstring("the memory of keys overlaps that of values"));
    auto* const odd = reinterpret_cast<std::byte*>(memory.data()) + 1;
    CHECK_THROWS_WITH(kv_cache<float>({1, 1, 1, 1, 1}, std::span(reinterpret_cast<float*>(odd), 1), values),
                      ContainsSubstring("the memory of keys must be aligned to 4 bytes"));
    CHECK_THROWS_WITH(kv_cache<float>::key_elements({1 << 20, 1 << 20, 1, 1 << 20, 1 << 20}),
                      ContainsSubstring("are more than can be counted"));
}
