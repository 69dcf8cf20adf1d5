// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cache in pages: after any steps its sequences hold what was appended to them, and attention over a batch of them is
// that over one array for each.
#include <fovea/fovea.hpp>
#include <fovea/kv_cache.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"

#include <map>
#include <numeric>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr kv_sizes sizes{.heads = 2, .key_features = 32, .value_features = 64, .pages = 24, .page_size = 4};

/// The rows of one sequence, position after position.
struct rows {
    std::vector<float> keys, values;  // (position, head, feature)
    index_t length() const { return static_cast<index_t>(keys.size()) / (2 * 32); }
    void resize(index_t n) {
        keys.resize(static_cast<std::size_t>(n * 2 * 32));
        values.resize(static_cast<std::size_t>(n * 2 * 64));
    }
    view<float const, 4> key_view(index_t first, index_t count) const { return of(keys, 32, first, count); }
    view<float const, 4> value_view(index_t first, index_t count) const { return of(values, 64, first, count); }

private:
    static view<float const, 4> of(std::vector<float> const& all, index_t features, index_t first, index_t count) {
        return {all.data() + first * 2 * features, {1, 2, count, features}, {0, features, 2 * features, 1}};
    }
};

/// The pages that sequences hold, each counted once: forks share what is before the page that differs.
template <class Cache>
void check_contents(Cache const& cache, std::map<index_t, rows> const& expected) {
    for (auto const& [number, own] : expected) {
        REQUIRE(cache.length(number) == own.length());
        auto const batch = cache.batch(std::span(&number, 1));
        auto const keys = batch.keys();
        auto const values = batch.values();
        for (index_t n = 0; n < own.length(); ++n)
            for (index_t h = 0; h < 2; ++h) {
                REQUIRE(keys(0, h, n, 5) == own.key_view(n, 1)(0, h, 0, 5));
                REQUIRE(values(0, h, n, 63) == own.value_view(n, 1)(0, h, 0, 63));
            }
    }
}

}  // namespace

TEST_CASE("sequences of a cache hold what was appended to them, whatever else happened", "[spec]") {
    for (unsigned seed = 1; seed <= 8; ++seed) {
        testing::dice random(seed);
        kv_cache<float> cache(sizes);
        std::map<index_t, rows> expected;
        for (int step = 0; step < 200; ++step) {
            index_t const what = random.between(0, 9);
            if (expected.empty() || what == 0) {
                auto const number = cache.add();
                REQUIRE(expected.count(number) == 0);
                expected[number] = {};
                continue;
            }
            auto one = expected.begin();
            std::advance(one, random.between(0, static_cast<index_t>(expected.size()) - 1));
            auto const number = one->first;
            if (what == 1) {
                auto const copy = one->second;
                expected[cache.fork(number)] = copy;
            } else if (what == 2) {
                cache.remove(number);
                expected.erase(one);
            } else if (what == 3) {
                index_t const kept = random.between(0, one->second.length());
                cache.truncate(number, kept);
                one->second.resize(kept);
            } else {
                index_t const before = one->second.length(), count = random.between(0, 9);
                auto more = one->second;
                more.resize(before + count);
                for (std::size_t i = static_cast<std::size_t>(before * 64); i < more.keys.size(); ++i)
                    more.keys[i] = static_cast<float>(random.real(-1, 1));
                for (std::size_t i = static_cast<std::size_t>(before * 128); i < more.values.size(); ++i)
                    more.values[i] = static_cast<float>(random.real(-1, 1));
                try {
                    cache.append(number, more.key_view(before, count), more.value_view(before, count));
                    one->second = more;
                } catch (shape_error const&) {  // the store is full, and nothing has changed
                }
            }
            check_contents(cache, expected);
        }
        for (auto const& [number, own] : expected) cache.remove(number);
        CHECK(cache.free_pages() == sizes.pages);
    }
}

TEST_CASE("attention over a batch of sequences is that over an array for each", "[spec]") {
    testing::dice random(9);
    kv_cache<q8_0, float16> cache(sizes);
    std::vector<index_t> numbers;
    std::vector<rows> all;
    for (index_t const length : {5, 1, 16}) {
        rows own;
        own.resize(length);
        for (auto* const numbers_of : {&own.keys, &own.values})
            for (float& x : *numbers_of) x = static_cast<float>(random.real(-1, 1));
        numbers.push_back(cache.add());
        cache.append(numbers.back(), own.key_view(0, length), own.value_view(0, length));
        all.push_back(own);
    }
    auto const batch = cache.batch(numbers);
    CHECK(batch.lengths() == std::vector<index_t>{5, 1, 16});
    auto const past = batch.past(1);
    auto const query = testing::random_tensor<float, 4>(random, {3, 4, 1, 32});
    tensor<float, 4> got({3, 4, 1, 64}), one({1, 4, 1, 64});
    attend(scaled_dot | causal_from(past) | softmax | weighted_sum, query, batch.keys(), batch.values(), got);
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
    check_contents(cache, {});
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
    CHECK_THROWS_WITH(cache.append(3, own.key_view(0, 1), own.value_view(0, 1)),
                      ContainsSubstring("there is no sequence 3"));
    CHECK_THROWS_WITH(cache.truncate(number, 1), ContainsSubstring("has 0 positions, not 1 to be kept"));
    CHECK(cache.length(number) == 0);
    CHECK(cache.free_pages() == 24);
    cache.remove(number);
    CHECK_THROWS_WITH(cache.length(number), ContainsSubstring("there is no sequence 0"));
    CHECK_THROWS_WITH(
        kv_cache<q8_0>({.heads = 1, .key_features = 40, .value_features = 32, .pages = 1, .page_size = 1}),
        ContainsSubstring("features are whole blocks"));
}
