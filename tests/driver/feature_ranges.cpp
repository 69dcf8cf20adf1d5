// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over ranges of features and over rows of tables, against the definition, at every width.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

// Odd numbers of features, ranges that begin anywhere in a vector, heads that share keys; many queries, and one.
testing::call_sizes const many{
    .batches = 2, .heads = 4, .key_heads = 2, .queries = 37, .keys = 70, .features = 27, .value_features = 18};
testing::call_sizes const few{
    .batches = 2, .heads = 4, .key_heads = 2, .queries = 1, .keys = 70, .features = 27, .value_features = 18};

/// The same for each of the two.
template <class Check>
void for_sizes(Check const& check) {
    check(many);
    check(few);
}

tensor<float, 2> places(index_t positions, index_t axes) {
    testing::dice random(7);
    return testing::random_tensor<float>(random, std::array<index_t, 2>{positions, axes});
}

}  // namespace

TEST_CASE("one product over some features, fused", "[driver]") {
    for_sizes([](auto const& sizes) {
        check_fused_at_all_widths<float>(compare(sum(q * k, features(3, 10)) * rsqrt(dim)) | softmax | weighted_sum,
                                         sizes);
    });
    for (auto const& [first, end] : {std::pair<index_t, index_t>{0, 1}, {26, 27}, {1, 4}, {8, 24}, {0, 27}})
        for_sizes([first = first, end = end](auto const& sizes) {
            check_fused<float>(compare(sum(q * k, features(first, end))) | causal | softmax | weighted_sum, sizes);
        });
    check_fused<double>(compare(sum(q * k, features(5, 22))) | softmax | weighted_sum, many);
}

TEST_CASE("products over two ranges, fused", "[driver]") {
    for_sizes([](auto const& sizes) {
        check_fused_at_all_widths<float>(
            compare(sum(q * k, features(0, 3)) * 0.5 + sum(q * k, features(3, 27)) * rsqrt(dim)) | softmax
                | weighted_sum,
            sizes);
    });
}

TEST_CASE("squares, sums for each pair and terms over ranges, fused", "[driver]") {
    testing::dice random(3);
    auto const weights = testing::random_tensor<float>(random, std::array<index_t, 1>{3});
    for_sizes([&](auto const& sizes) {
        check_fused_at_all_widths<float>(
            compare(sum(q * k, features(3, 27)) - sum(square(q - k), features(0, 3))) | softmax | weighted_sum, sizes);
        check_fused<float>(compare(sum(param(weights) * square(q - k), features(1, 4)) * -0.5) | softmax | weighted_sum,
                           sizes);
        check_fused<float>(compare(sum(param(weights) * tanh(q + k), features(5, 8)) - sum(abs(q - k), features(1, 20)))
                               | softmax | weighted_sum,
                           sizes);
        check_fused<float>(compare(sum(q * k, features(1, 27)) * sum(square(q), features(0, 2))
                                   + sum(k, features(26, 27)) * sum(param(weights) * q, features(7, 10)))
                               | softmax | weighted_sum,
                           sizes);
    });
}

TEST_CASE("exponentials of a range that leave their range, fused", "[driver]") {
    auto far = many;
    far.magnitude = 60;
    check_fused<float>(compare(sum(tanh(q + k), features(5, 8)) + sum(tanh(q + k))) | causal | softmax | weighted_sum,
                       far);
}

TEST_CASE("distances of rows of tables, fused", "[driver]") {
    auto const of_queries = places(37, 3), of_keys = places(70, 3);
    auto const distance = sum(square(param(of_queries)[q_idx] - param(of_keys)[kv_idx]));
    for_sizes([&](auto const& sizes) {
        check_fused_at_all_widths<float>(compare(sum(q * k) * rsqrt(dim) - sqrt(distance)) | softmax | weighted_sum,
                                         sizes);
        check_fused<float>(compare(-distance) | causal | softmax | weighted_sum, sizes);
    });
    // Rows of more elements than a query has features, of each batch element.
    testing::dice random(9);
    auto const wide = testing::random_tensor<float>(random, std::array<index_t, 3>{2, 70, 40});
    check_fused<float>(
        compare(sum(q * k, features(0, 2)) - sum(abs(param(wide)(batch, q_idx) - param(wide)(batch, kv_idx)))) | softmax
            | weighted_sum,
        many);
}

TEST_CASE("a row of a table in place of features, fused", "[driver]") {
    auto const of_queries = places(37, 3), of_keys = places(70, 27);
    for_sizes([&](auto const& sizes) {
        check_fused_at_all_widths<float>(
            compare(-sum(square(param(of_queries)[q_idx] - k), features(5, 8))) | softmax | weighted_sum, sizes);
        check_fused<float>(compare(sum(q * (k + param(of_keys)[kv_idx])) * rsqrt(dim)) | softmax | weighted_sum, sizes);
        check_fused<float>(compare(sum(q * param(of_keys)[kv_idx]) + sum(param(of_queries)[q_idx] * k, features(2, 5)))
                               | softmax | weighted_sum,
                           sizes);
        check_fused<float>(compare(sum(param(of_queries)[q_idx] * square(param(of_queries)[kv_idx / 2]))
                                   + sum(tanh(param(of_queries)[q_idx] + param(of_queries)[kv_idx / 2])))
                               | softmax | weighted_sum,
                           sizes);
    });
}

TEST_CASE("query and key have different numbers of features beside their ranges", "[driver]") {
    testing::dice random(5);
    for (index_t const queries : {1, 33})
        for (auto const& [of_query, of_key] : {std::pair<index_t, index_t>{9, 20}, {20, 9}}) {
            auto const query = testing::random_tensor<float, 4>(random, {1, 2, queries, of_query}),
                       key = testing::random_tensor<float, 4>(random, {1, 1, 50, of_key}),
                       value = testing::random_tensor<float, 4>(random, {1, 1, 50, 8});
            auto const check = [&](auto const& spec) {
                tensor<float, 4> got({1, 2, queries, 8}), expected(got.extents);
                attend(spec | softmax | weighted_sum, query, key, value, got);
                reference::attend(spec | softmax | weighted_sum, query, key, value, expected);
                testing::check_close<float, float>("result", expected.elements, got.elements, {4e-6, 1e-5});
            };
            check(compare(sum(q * k, features(2, 9))));
            check(compare(sum(q * k, features(2, 9)) + sum(q) + sum(square(k)) - sum(abs(q - k), features(0, 4))));
        }
}
