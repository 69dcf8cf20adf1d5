// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pages of any size: the same as rows one after another, whatever the elements, the queries and the traversal.
#include <fovea/core/paged.hpp>
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// Rows of one sequence, and the same in pages in any order.
template <class T>
struct cut_rows {
    tensor<T, 4> rows, pages;
    tensor<std::int32_t, 2> table;

    cut_rows(testing::dice& random, index_t heads, index_t slots, index_t count, index_t features)
        : rows({1, heads, slots * count, features}), pages({count, heads, slots, features}), table({1, count}) {
        for (T& x : rows) {
            auto const eighths = static_cast<float>(random.between(-16, 16));
            x = std::is_integral_v<T> ? static_cast<T>(eighths) : static_cast<T>(eighths / 8);
        }
        std::vector<std::int32_t> order(static_cast<std::size_t>(count));
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t n = order.size(); n > 1; --n)
            std::swap(order[n - 1], order[static_cast<std::size_t>(random.between(0, static_cast<index_t>(n) - 1))]);
        std::copy(order.begin(), order.end(), table.begin());
        for (index_t h = 0; h < heads; ++h)
            for (index_t n = 0; n < slots * count; ++n)
                std::copy_n(rows.view().place(0, h, n, 0), features,
                            pages.view().place(table(0, n / slots), h, n % slots, 0));
    }
    auto in_pages() const { return paged(pages, table); }
};

/// Keys of one type and values of another, results of a third.
template <class Key, class Value, class Out, class Spec>
void check_pages(Spec const& spec, index_t slots, index_t queries, index_t group, index_t features,
                 index_t value_features) {
    testing::dice random(static_cast<unsigned>(slots * 1000 + queries));
    index_t const pages = std::max<index_t>(700 / slots, 3);
    cut_rows<Key> const key(random, 2, slots, pages, features);
    cut_rows<Value> const value(random, 2, slots, pages, value_features);
    using query_type = std::conditional_t<std::is_integral_v<Key>, float, Key>;
    tensor<query_type, 4> query({1, 2 * group, queries, features});
    for (auto& x : query) x = static_cast<query_type>(static_cast<float>(random.between(-8, 8)) / 16);
    tensor<Out, 4> got({1, 2 * group, queries, value_features}), expected(got.extents);
    attend(spec, query, key.in_pages(), value.in_pages(), got);
    attend(spec, query, key.rows, value.rows, expected);
    CAPTURE(slots, queries, group, features, value_features);
    std::vector<float> a(got.begin(), got.end()), b(expected.begin(), expected.end());
    double const coarse = sizeof(Out) == 2 ? 0.01 : 2e-6;  // the last bit of a result of 16 bits
    testing::check_close<float, float>("result", b, a, {coarse, coarse});
}

template <class Key, class Value, class Out, class Spec>
void check_sizes(Spec const& spec) {
    for (index_t slots : {1, 3, 8, 16, 30, 64, 300})
        for (index_t queries : {1, 2, 7, 40}) check_pages<Key, Value, Out>(spec, slots, queries, 1, 20, 16);
    for (index_t slots : {5, 16}) {
        check_pages<Key, Value, Out>(spec, slots, 3, 4, 33, 64);
        check_pages<Key, Value, Out>(spec, slots, 250, 2, 8, 7);
        check_pages<Key, Value, Out>(spec, slots, 600, 1, 5, 32);
    }
}

}  // namespace

TEST_CASE("pages of any size are read like rows one after another", "[driver]") {
    auto const plain = scaled_dot | softmax | weighted_sum;
    SECTION("in float") { check_sizes<float, float, float>(plain); }
    SECTION("in double") { check_sizes<double, double, double>(plain); }
    SECTION("in bfloat16") { check_sizes<bfloat16, bfloat16, bfloat16>(plain); }
    SECTION("in float16, with a mask") {
        check_sizes<float16, float16, float>(scaled_dot | causal | softmax | weighted_sum);
    }
    SECTION("of two types") { check_sizes<std::int8_t, bfloat16, float>(plain); }
    SECTION("with whole rows") { check_sizes<bfloat16, float, float>(scaled_dot | sparsemax | weighted_sum); }
    SECTION("with distances") { check_sizes<float, float, float>(l1_distance(1) | softmax | weighted_sum); }
    SECTION("with one key that wins") { check_sizes<float, float16, float>(dot | hardmax | weighted_sum); }
    SECTION("with maxima") { check_sizes<float, float, float>(dot | softmax | max_pool); }
}

TEST_CASE("values that are not finite are seen in their pages", "[driver]") {
    testing::dice random(5);
    for (index_t slots : {3, 16, 40}) {
        cut_rows<float> const key(random, 1, slots, 12, 8);
        cut_rows<float> value(random, 1, slots, 12, 16);
        index_t const unseen = slots * 12 - 2;
        value.pages(value.table(0, unseen / slots), 0, unseen % slots, 3) = std::numeric_limits<float>::quiet_NaN();
        for (index_t queries : {1, 30}) {
            tensor<float, 4> const query({1, 1, queries, 8}, 0.25f);
            tensor<float, 4> got({1, 1, queries, 16}), expected(got.extents);
            auto const spec = scaled_dot | where(kv_idx != unseen) | softmax | weighted_sum;
            attend(spec, query, key.in_pages(), value.in_pages(), got);
            attend(spec, query, key.rows, value.rows, expected);
            testing::check_close<float, float>("result", expected.elements, got.elements, {2e-6, 2e-6});
        }
    }
}
