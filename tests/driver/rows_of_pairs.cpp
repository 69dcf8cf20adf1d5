// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Rows of tables that are added to values: as products where bounds of the index find few of them for a tile, pair by
// pair elsewhere, and their gradients.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "driver/score_gradient_case.hpp"
#include "support/fused.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace fovea;
using namespace fovea::placeholders;
using score_gradient_case::worst;

namespace {

constexpr index_t all_heads = 4;
// Keys of several blocks, and columns of several tiles; heads that share keys; few queries.
testing::call_sizes const many{2, all_heads, all_heads, 37, 300, 16, 150}, shared{1, all_heads, 2, 60, 150, 16, 37},
    few{1, all_heads, all_heads, 3, 45, 23, 18};
score_gradient_case::sizes const of_gradient{2, all_heads, 2, 37, 170, 16, 21},
    whole_vectors{1, all_heads, 2, 30, 47, 16, 32};

/// A user's aggregator: rows by head and distance, or by the bucket of a pair.
struct rows_by_head_t : weighted_sum_t {
    parameter<float, 3> table{};
    index_t reach = 0;
    constexpr auto added() const { return table(head, min(max(kv_idx - q_idx, -reach), reach) + reach); }
};
struct rows_of_buckets_t : weighted_sum_t {
    parameter<float, 2> table{};
    parameter<int, 2> buckets{};
    constexpr auto added() const { return table(buckets(q_idx, kv_idx)); }
};
rows_by_head_t rows_by_head(tensor<float, 3> const& table) { return {{}, param(table), table.extents[1] / 2}; }

template <int Rank>
tensor<float, Rank> drawn(testing::dice& random, extents_t<Rank> const& extents) {
    return testing::random_tensor<float>(random, extents);
}
tensor<int, 2> drawn_buckets(testing::dice& random, index_t queries, index_t keys) {
    tensor<int, 2> buckets({queries, keys});
    for (int& each : buckets.elements) each = static_cast<int>(random.between(0, 4));
    return buckets;
}

}  // namespace

TEST_CASE("rows that are added to values are those of the definition, however many there are", "[driver]") {
    testing::dice random(1);
    for (auto const& n : {many, shared, few})
        for (index_t const reach : {2, 400}) {
            CAPTURE(n.queries, n.keys, reach);
            auto const table = drawn<2>(random, {2 * reach + 1, n.value_features});
            check_fused<float, lane_widths>(scaled_dot | causal_at_end | softmax | relative_values(table), n);
        }
}

TEST_CASE("rows by head, and of buckets, are added to values", "[driver]") {
    testing::dice random(2);
    for (auto const& n : {many, shared}) {
        auto const table = drawn<3>(random, {all_heads, 9, n.value_features});
        check_fused<float, lane_widths>(scaled_dot | softmax | rows_by_head(table), n);
        auto const few_rows = drawn<2>(random, {5, n.value_features});
        auto const buckets = drawn_buckets(random, n.queries, n.keys);
        check_fused<float, lane_widths>(
            scaled_dot | causal | softmax | rows_of_buckets_t{{}, param(few_rows), param(buckets)}, n);
    }
}

TEST_CASE("gradients go back to rows that are added to values", "[driver]") {
    testing::dice random(3);
    for (auto const& n : {of_gradient, whole_vectors}) {
        score_gradient_case::operands<float> const of(random, n);
        auto const distances = drawn<2>(random, {401, n.value_features}),
                   rows = drawn<2>(random, {5, n.value_features});
        CHECK(worst(scaled_dot | causal | softmax | relative_values(distances), of, distances) < 3e-5);
        auto const by_head = drawn<3>(random, {all_heads, 9, n.value_features});
        CHECK(worst(scaled_dot | softmax | rows_by_head(by_head), of, by_head) < 3e-5);
        auto const buckets = drawn_buckets(random, n.queries, n.keys);
        CHECK(worst(scaled_dot | softmax | rows_of_buckets_t{{}, param(rows), param(buckets)}, of, rows) < 3e-5);
    }
}

TEST_CASE("a row that is not finite is added to the values of its pairs alone", "[driver]") {
    constexpr index_t n = 40, d = 20;
    testing::dice random(4);
    auto table = drawn<2>(random, {2 * n - 1, d});
    table(2 * n - 2, 0) = std::numeric_limits<float>::infinity();  // the last key and the first query, which is masked
    table(0, d - 1) = std::numeric_limits<float>::quiet_NaN();     // the first key and the last query
    auto const spec = scaled_dot | causal | softmax | relative_values(table);
    auto const x = drawn<4>(random, {1, 2, n, d});
    tensor<float, 4> result(x.extents);
    attend(spec, x, x, x, result);
    index_t not_finite = 0;
    for (index_t h = 0; h < 2; ++h)
        for (index_t i = 0; i < n; ++i)
            for (index_t c = 0; c < d; ++c) {
                bool const expected = !(i == n - 1 && c == d - 1);
                CHECK(std::isfinite(result(0, h, i, c)) == expected);
                not_finite += expected ? 0 : 1;
            }
    CHECK(not_finite == 2);
}

TEST_CASE("rows of 16 bits add what their numbers in 32 bits add", "[driver]") {
    testing::dice random(5);
    auto const x = drawn<4>(random, {1, 2, 30, 37});
    auto const narrow = testing::random_tensor<float16>(random, extents_t<2>{21, 37});
    tensor<float, 2> wide(narrow.extents);
    std::copy(narrow.elements.begin(), narrow.elements.end(), wide.elements.begin());
    tensor<float, 4> of_narrow(x.extents), of_wide(x.extents);
    attend(scaled_dot | softmax | relative_values(narrow), x, x, x, of_narrow);
    attend(scaled_dot | softmax | relative_values(wide), x, x, x, of_wide);
    for (std::size_t i = 0; i < of_wide.elements.size(); ++i)
        CHECK(of_narrow.elements[i] == Approx(of_wide.elements[i]).margin(1e-6));
}
