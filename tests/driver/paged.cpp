// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: native
// Keys and values in pages: the same as if they lay one after another.
#include <fovea/core/paged.hpp>
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"

#include <cstdint>
#include <limits>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// Sequences of some length in pages of five positions that lie in any order, and the same rows one after another.
struct cache {
    static constexpr index_t slots = 5, heads = 2, features = 9, batches = 2, table_pages = 7;
    testing::dice random{3};
    tensor<float, 4> pages = testing::random_tensor<float, 4>(random, {20, heads, slots, features});
    tensor<std::int32_t, 2> table{{batches, table_pages}};
    std::vector<int> lengths{33, 12};
    tensor<float, 4> rows{{batches, heads, table_pages* slots, features}};

    explicit cache(int seed) : random(static_cast<unsigned>(seed)) {
        for (index_t b = 0; b < batches; ++b)
            for (index_t n = 0; n < table_pages; ++n) {
                bool const used = n * slots < lengths[static_cast<std::size_t>(b)];
                table(b, n) = used ? static_cast<std::int32_t>((7 * n + 10 * b) % 20) : -1;
                for (index_t h = 0; h < heads && used; ++h)
                    for (index_t s = 0; s < slots; ++s)
                        for (index_t c = 0; c < features; ++c)
                            rows(b, h, n * slots + s, c) = pages(table(b, n), h, s, c);
            }
    }
};

}  // namespace

TEST_CASE("a visible position in a page that is not there is refused, in keys and in values", "[driver]") {
    cache keys(1), values(2);
    tensor<float, 4> const query({2, 2, 4, cache::features}, 1);
    tensor<float, 4> result({2, 2, 4, cache::features}, 7);
    auto const k = paged(keys.pages, keys.table), v = paged(values.pages, values.table);
    auto const refused = [&](auto const& mask, std::string const& sentence) {
        auto const spec = scaled_dot | mask | softmax | weighted_sum;
        CHECK_THROWS_WITH(attend(spec, query, k, v, result), Catch::Matchers::StartsWith(sentence));
        CHECK_THROWS_WITH(explain(spec, query, k, v), Catch::Matchers::StartsWith(sentence));
        CHECK_THROWS_WITH(reference::attend(spec, query, k, v, result), Catch::Matchers::StartsWith(sentence));
        for (float const x : result.elements) CHECK(x == 7);
    };
    auto const in_pages = where(kv_idx < (param(keys.lengths)[batch] + 4) / 5 * 5);
    auto const accepted = [&](auto const& mask) {
        CHECK_NOTHROW(attend(scaled_dot | mask | softmax | weighted_sum, query, k, v, result));
        std::fill(result.elements.begin(), result.elements.end(), 7.f);
    };
    refused(where(kv_idx >= 0), "key has no page for position");
    accepted(in_pages);
    refused(where(kv_idx <= (param(keys.lengths)[batch] + 4) / 5 * 5 || kv_idx < 5),
            "key has no page for position 15 of batch 1, where its table has -1, and query");
    refused(where(kv_idx < 15 || (q_idx == 3 && head == 1 && kv_idx % 11 == 5 && batch == 1)),
            "key has no page for position 27 of batch 1, where its table has -1, and query 3 of head 1 sees it");
    accepted(where(kv_idx < 15 && random(1) < 2));
    values.table(0, 3) = -5;
    refused(in_pages, "value has no page for position");
    accepted(in_pages && where(kv_idx < 15));
    accepted(in_pages && where(kv_idx < 15 || kv_idx >= 20));
    keys.table(1, 0) = -1;
    refused(in_pages && where(kv_idx < 15), "key has no page for position");
    accepted(in_pages && where(kv_idx < 15 && (batch == 0 || kv_idx > 4)));
    graph::edge const edges[] = {{0, 5}, {1, 7}, {3, 14}};
    graph const listed(4, edges);
    accepted(neighbors(listed));
    graph::edge const missing[] = {{0, 5}, {1, 17}};
    graph const beyond(4, missing);
    refused(neighbors(beyond), "key has no page for position 17 of batch 1, where its table has -1, and query 1");
}

TEST_CASE("a running state reads every position: pages that are not there are refused", "[driver]") {
    cache const keys(1), values(2);
    tensor<float, 4> const query({2, 2, 35, cache::features}, 1);
    tensor<float, 4> result({2, 2, 35, cache::features}, 7);
    CHECK_THROWS_WITH(attend(dot | causal | unnormalized | running_state, query, paged(keys.pages, keys.table),
                             paged(values.pages, values.table), result),
                      Catch::Matchers::StartsWith("key has no page for position"));
    CHECK(result.elements.front() == 7);
}

TEST_CASE("a table that asks for a page that is not there is refused", "[driver]") {
    cache keys(1), values(2);
    tensor<float, 4> const query({2, 2, 1, cache::features}, 1);
    tensor<float, 4> result({2, 2, 1, cache::features}, 7);
    keys.table(1, 2) = 20;
    CHECK_THROWS_WITH(attend(scaled_dot | softmax | weighted_sum, query, paged(keys.pages, keys.table),
                             paged(values.pages, values.table), result),
                      "key has 20 pages, its table asks for page 20 at (1, 2)");
    CHECK(result.elements.front() == 7);
}
