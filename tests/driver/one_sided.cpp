// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables that are read for a query or a key alone, whatever their axes, in scores, masks and both, against the
// definition.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

#include <cstdint>

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

TEST_CASE("integers of one side, of any type and in any axis, fused", "[driver]") {
    space in;
    auto const draw = [&](auto of) {
        tensor<decltype(of), 2> t({301, 3});
        for (auto& e : t) e = static_cast<decltype(of)>(in.random.between(0, 3));
        return t;
    };
    auto const whole = draw(int{});
    auto const bytes = draw(std::int8_t{});
    auto const wide = draw(index_t{});
    tensor<std::uint16_t, 2> const of_batch({2, 301}, 2);
    auto const same = [](auto const& t) { return param(t)(q_idx, 1) == param(t)(kv_idx, 1); };
    check_fused_at_all_widths<float>(scaled_dot | where(same(whole)) | softmax | weighted_sum, sizes);
    check_fused<float>(scaled_dot | where(same(bytes)) | sparsemax | weighted_sum, sizes);
    check_fused<float>(scaled_dot | where(same(wide) || kv_idx == q_idx) | softmax | weighted_sum, sizes);
    check_fused<double>(scaled_dot | where(same(whole)) | softmax | weighted_sum, sizes);
    check_fused<float>(scaled_dot | where(same(whole)) | softmax | weighted_sum, few);
    // in scores, in an index, with what is computed of them, and with a table for each element of the batch
    auto const distance = abs(param(whole)(q_idx, 0) - 2 * param(wide)(kv_idx, 2) - param(of_batch)(batch, kv_idx));
    check_fused_at_all_widths<float>(scaled_dot | rescore(score - 0.1f * distance) | softmax | weighted_sum, sizes);
    check_fused<float>(
        scaled_dot | rescore(score + param(in.points)(q_idx, param(bytes)(kv_idx, 0) % 3)) | sparsemax | weighted_sum,
        sizes);
    check_fused<float>(
        compare(-sum(abs(q - k))) | where(param(of_batch)(batch, kv_idx) + kv_idx > q_idx) | softmax | weighted_sum,
        sizes);
}

TEST_CASE("integers along and against the keys, fused", "[driver]") {
    space in;
    tensor<std::int8_t, 1> bytes({601});
    tensor<index_t, 1> wide({601});
    for (auto& e : bytes) e = static_cast<std::int8_t>(in.random.between(-5, 5));
    for (auto& e : wide) e = in.random.between(-5, 5);
    auto const forwards = param(bytes)[kv_idx - q_idx + 300];
    auto const backwards = param(wide)[q_idx - kv_idx + 300];
    auto const spec = scaled_dot | rescore(score + 0.1f * forwards - 0.2f * backwards) | where(forwards < 3);
    check_fused_at_all_widths<float>(spec | softmax | weighted_sum, sizes);
    check_fused<float>(spec | sparsemax | weighted_sum, sizes);
    check_fused<double>(spec | softmax | weighted_sum, few);
}

TEST_CASE("integers that need more bits than a lane has are no terms of it", "[driver]") {
    tensor<index_t, 1> ids({301});
    for (index_t i = 0; i < 301; ++i) ids(i) = (i % 3) << 32;  // equal in their lower halves
    check_fused<float>(scaled_dot | where(param(ids)[q_idx] == param(ids)[kv_idx]) | softmax | weighted_sum, sizes);
    check_fused<float>(scaled_dot | where(param(ids)[q_idx] == param(ids)[kv_idx]) | sparsemax | weighted_sum, few);
}

TEST_CASE("numbers for a key and a head, in either order, fused", "[driver]") {
    space in;
    auto const of_head = testing::random_tensor<float>(in.random, std::array<index_t, 2>{4, 301});
    auto const of_key = testing::random_tensor<float>(in.random, std::array<index_t, 3>{2, 301, 4});
    auto const biased = rescore(score + param(of_head)(head, kv_idx) - param(of_key)(batch, kv_idx, head));
    check_fused_at_all_widths<float>(scaled_dot | biased | sparsemax | weighted_sum, sizes);
    check_fused<float>(scaled_dot | biased | sparsemax | weighted_sum, few);
    check_fused<float>(scaled_dot | biased | softmax | weighted_sum, sizes);
    check_fused_at_all_widths<float>(compare(-sum(abs(q - k))) | biased | softmax | weighted_sum, sizes);
    check_fused<float>(compare(-sum(abs(q - k))) | biased | softmax | weighted_sum, few);
    check_fused<double>(
        scaled_dot | where(param(of_key)(batch, kv_idx, head) > param(of_head)(head, q_idx)) | sparsemax | weighted_sum,
        sizes);
    check_fused<float>(scaled_dot | biased | softmax_with_sink(head) | weighted_sum, few);
}
