// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables that are read for a query or a key alone, whatever their axes, in scores, masks and both, against the
// definition.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

testing::call_sizes const sizes{
    .batches = 2, .heads = 4, .key_heads = 2, .queries = 37, .keys = 301, .features = 9, .value_features = 18};
testing::call_sizes const few{
    .batches = 2, .heads = 4, .key_heads = 2, .queries = 2, .keys = 301, .features = 9, .value_features = 18};

/// Positions in space, of queries and keys; with an axis for the batch where the table is of rank 3.
struct space {
    testing::dice random{7};
    tensor<float, 2> const points = testing::random_tensor<float>(random, std::array<index_t, 2>{301, 3});
    tensor<float, 3> const of_batch = testing::random_tensor<float>(random, std::array<index_t, 3>{2, 301, 3});
    tensor<bfloat16, 2> const short_points = testing::random_tensor<bfloat16>(random, std::array<index_t, 2>{301, 3});
};

template <class Table>
auto squared_distance(Table const& x) {
    return square(x(q_idx, 0) - x(kv_idx, 0)) + square(x(q_idx, 1) - x(kv_idx, 1)) + square(x(q_idx, 2) - x(kv_idx, 2));
}

}  // namespace

TEST_CASE("a score of positions, fused", "[driver]") {
    space const in;
    auto const spec = compare(-squared_distance(param(in.points))) | softmax | weighted_sum;
    check_fused_at_all_widths<float>(spec, sizes);
    check_fused<float>(spec, few);
    check_fused<double>(spec, sizes);
}

TEST_CASE("a product beside a distance, and a mask of it, fused", "[driver]") {
    space const in;
    auto const x = param(in.points);
    auto const spec =
        scaled_dot | rescore(score - squared_distance(x)) | where(squared_distance(x) < 1.5f) | softmax | weighted_sum;
    check_fused_at_all_widths<float>(spec, sizes);
    check_fused<float>(spec, few);
    check_fused<double>(spec, sizes);
}

TEST_CASE("a mask of positions beside a bare product, fused", "[driver]") {
    space const in;
    auto const x = param(in.of_batch);
    auto const spec = scaled_dot
                    | where(square(x(batch, q_idx, 0) - x(batch, kv_idx, 0)) < 0.7f && x(batch, kv_idx, 2) > -1)
                    | softmax | weighted_sum;
    check_fused_at_all_widths<float>(spec, sizes);
    check_fused<float>(spec, few);
}

TEST_CASE("numbers computed of a key's position, and select of them, fused", "[driver]") {
    space const in;
    auto const x = param(in.points);
    auto const chosen = select(x(kv_idx, 0) < 0, 1.0f, x(q_idx, 2));
    check_fused<float>(scaled_dot | rescore(score * exp(-square(x(kv_idx, 1))) + chosen) | softmax | weighted_sum,
                       sizes);
    auto const shuffled = x((kv_idx * 7 + kv_len) % 301, 2);
    check_fused<float>(scaled_dot | rescore(score + shuffled) | causal | softmax | weighted_sum, sizes);
    check_fused<float>(scaled_dot | where(x(kv_idx, 0) < param(in.short_points)(q_idx, 1)) | softmax | weighted_sum,
                       sizes);
}

TEST_CASE("positions with normalizers of whole rows and sums for each pair, fused", "[driver]") {
    space const in;
    auto const x = param(in.points);
    check_fused<float>(scaled_dot | where(squared_distance(x) < 1) | sparsemax | weighted_sum, sizes);
    check_fused<float>(compare(-sum(abs(q - k)) - squared_distance(x)) | softmax | weighted_sum, sizes);
    check_fused<float>(scaled_dot | where(squared_distance(x) < 1) | hardmax | weighted_sum, sizes);
}
