// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dense attention with every kind of score, against the definition.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

testing::call_sizes const sizes{
    .batches = 2, .heads = 4, .key_heads = 2, .queries = 37, .keys = 70, .features = 9, .value_features = 18};

}  // namespace

TEST_CASE("inner products, fused", "[driver]") {
    check_fused_at_all_widths<float>(scaled_dot | softmax | weighted_sum);
    check_fused<double>(scaled_dot | softmax | weighted_sum);
}

TEST_CASE("two norms and a product, fused", "[driver]") { check_fused<float>(cosine | softmax | weighted_sum); }

TEST_CASE("distances, fused", "[driver]") {
    check_fused<float>(compare(-sum(square(q - k)) / 4) | softmax | weighted_sum);
}

TEST_CASE("functions of a distance do not know how far from 0 its ends are", "[driver]") {
    testing::dice random(17);
    auto const place = testing::random_tensor<double, 4>(random, {1, 2, 20, 3});
    tensor<float, 4> near({1, 2, 20, 3}), far(near.extents), value({1, 2, 20, 5}, 0), from_near(value.extents),
        from_far(value.extents);
    for (std::size_t i = 0; i < place.elements.size(); ++i) {
        near.elements[i] = std::round(static_cast<float>(place.elements[i]) * 64) / 64;  // exact, also far away
        far.elements[i] = near.elements[i] + 3000;
    }
    for (float& x : value.elements) x = static_cast<float>(random.real(-1, 1));
    auto const check = [&](auto const& score) {
        for (index_t const queries : {20, 3}) {
            auto const first = [&](auto& all) {
                return view(all.data(), {1, 2, queries, all.extent(3)}, all.view().strides);
            };
            attend(score | softmax | weighted_sum, first(near), near, value, first(from_near));
            attend(score | softmax | weighted_sum, first(far), far, value, first(from_far));
            CHECK(from_far.elements == from_near.elements);
        }
    };
    auto const d = squared_distance(q, k);
    check(compare(-log(1 + d)));
    check(compare(1 / (1 + d)));
    check(compare(tanh(d)));
    check(compare(select(d < 2, -d * d, -INFINITY)));
    check(compare(-sqrt(d)));
}

TEST_CASE("weighted distances, fused", "[driver]") {
    testing::dice random(7);
    auto const m = testing::random_tensor<float>(random, std::array<index_t, 1>{9});
    auto const of_heads = testing::random_tensor<float>(random, std::array<index_t, 2>{4, 9});
    auto widths = testing::random_tensor<float>(random, std::array<index_t, 1>{9});
    for (float& x : widths.elements) x = 1 + std::abs(x);
    check_fused_at_all_widths<float>(compare(-sum(param(m) * square(q - k))) | softmax | weighted_sum, sizes);
    check_fused_at_all_widths<float>(
        compare(-sum(param(of_heads)[head] * square(k - q))) | causal | softmax | weighted_sum, sizes);
    check_fused<float>(compare(-sum(square(q - 2 * k) / param(widths)) / 3) | softmax | weighted_sum, sizes);
    check_fused<float>(compare(sum(-(square(q + k) * param(m) * 0.5f)) + 0.1f * kv_idx) | softmax | weighted_sum,
                       sizes);
    check_fused<float>(compare(-0.25 * sum(3 * square(q - k))) | softmax | weighted_sum);
    check_fused<double>(compare(-sum(param(m) * square(q - k))) | softmax | weighted_sum, sizes);
    auto few = sizes;
    few.queries = 1;
    check_fused_at_all_widths<float>(compare(-sum(param(m) * square(q - k))) | softmax | weighted_sum, few);
}

TEST_CASE("the distance of equal features is not below 0", "[driver]") {
    testing::dice random(5);
    auto const x = testing::random_tensor<float, 2>(random, {40, 33}, 100);
    tensor<float, 2> got({40, 33}), room({40, 40});
    attend(compare(-sum(square(q - k))) | where(q_idx == kv_idx) | weigh(sqrt(-score)) | weighted_sum, x, got,
           weights(room));
    for (float const w : room.elements) CHECK((w >= 0 && w < 10));
    attend(compare(-sum(0.5f * square(q - k)) / 2) | where(q_idx == kv_idx) | weigh(sqrt(-score)) | weighted_sum, x,
           got, weights(room));
    for (float const w : room.elements) CHECK((w >= 0 && w < 10));
    // A root of the sum is one of the differences as they are written.
    attend(compare(-sqrt(sum(square(q - k)))) | where(q_idx == kv_idx) | weigh(-score) | weighted_sum, x, got,
           weights(room));
    for (float const w : room.elements) CHECK(w == 0);
}

TEST_CASE("scores of positions alone, fused", "[driver]") {
    check_fused<float>(compare(-0.25f * abs(q_idx - kv_idx)) | softmax | weighted_sum);
}

TEST_CASE("graph attention over all pairs, fused", "[driver]") {
    testing::dice random(7);
    auto const target = testing::random_tensor<float>(random, std::array<index_t, 2>{4, 9});
    auto const source = testing::random_tensor<float>(random, std::array<index_t, 2>{4, 9});
    check_fused<float>(gat_score(target, source) | softmax | weighted_sum, sizes);
}
