// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: native change
// Integers of expressions are exact in every traversal, whatever a lane can hold.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"
#include "support/random_graph.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

constexpr index_t far = index_t{1} << 32;
constexpr index_t most = std::numeric_limits<index_t>::max();

/// Numbers whose low halves repeat.
template <class T>
std::vector<T> spread_out(index_t step) {
    std::vector<T> numbers;
    for (index_t i = 0; i < 70; ++i) numbers.push_back(static_cast<T>(i % 3 + (i / 7) % 4 * step));
    return numbers;
}

/// Queries in lanes, of one head and of several in turns; keys in lanes.
void check_everywhere(auto const& spec) {
    testing::call_sizes n{
        .batches = 1, .heads = 2, .key_heads = 1, .queries = 70, .keys = 70, .features = 3, .value_features = 4};
    check_fused<float>(spec, n);
    n.queries = 2;
    check_fused<float>(spec, n);
    n.heads = 4, n.queries = 5;
    check_fused<float>(spec, n);
}

}  // namespace

TEST_CASE("identifiers that differ in their upper halves are different", "[driver]") {
    auto const ids = spread_out<std::int64_t>(far);
    check_everywhere(scaled_dot | document(ids) | softmax | weighted_sum);
}

TEST_CASE("times of 64 bits are compared and subtracted as they are, also where they wrap around", "[driver]") {
    auto const step = GENERATE(index_t{3'000'000'000}, most / 3);
    auto const times = spread_out<std::int64_t>(step);
    auto const t = param(times);
    check_everywhere(scaled_dot | rescore(score - 1e-19f * abs(t[q_idx] + t[kv_idx]))
                     | where(t[q_idx] - t[kv_idx] < step + 1 || t[kv_idx] * 3 < square(t[q_idx])) | softmax
                     | weighted_sum);
}

TEST_CASE("unsigned integers of 32 bits from 2^31 on stay positive", "[driver]") {
    auto const ids = spread_out<std::uint32_t>(1'400'000'000);
    auto const t = param(ids);
    check_everywhere(scaled_dot | where(t[kv_idx] > 2'000'000'000 || t[kv_idx] < t[q_idx]) | softmax | weighted_sum);
}

TEST_CASE("literals that no lane can hold compare as what they are", "[driver]") {
    index_t const left = GENERATE(far + 3, most, -far, std::numeric_limits<index_t>::min());
    check_everywhere(scaled_dot
                     | where((q_idx - kv_idx <= left && kv_idx - q_idx <= far) || kv_idx == 3 || kv_idx == far + 5)
                     | softmax | weighted_sum);
    check_everywhere(scaled_dot | chunked(far + 4) | where((kv_idx + far) % 3 == q_idx % 2) | softmax | weighted_sum);
}

TEST_CASE("a division by zero is no trap", "[driver]") {
    check_everywhere(scaled_dot | where(kv_idx / (q_idx % 2) == 0 || kv_idx % (kv_idx % 3) <= 1) | softmax
                     | weighted_sum);
}

TEST_CASE("integers of reweightings, of random numbers and inside sums are exact", "[driver]") {
    auto const ids = spread_out<std::int64_t>(far);
    auto const t = param(ids);
    check_everywhere(compare(sum(select(t[q_idx] == t[kv_idx], q * k, abs(q - k))))
                     | rescore(score + random(far + 3) * select(t[kv_idx] == 0, 1, 2)) | softmax
                     | reweight(select(t[q_idx] < t[kv_idx], weight, 0.25f * weight)) | weighted_sum);
}

TEST_CASE("a choice between integers that are the same in all lanes keeps their 64 bits", "[driver]") {
    check_everywhere(scaled_dot | where(select(kv_idx > q_idx, far * 2, 7) <= 100) | softmax | weighted_sum);
    auto const times = spread_out<std::int64_t>(3'000'000'000);
    std::vector<std::int64_t> const starts{6'000'000'000};
    auto const time = param(times), start = param(starts);
    check_everywhere(scaled_dot | rescore(score + select(kv_idx < q_idx, far, 2 * far + 5) * 1e-10f)
                     | where(time[kv_idx] >= select(kv_idx % 2 == 0, time[q_idx] - 5'000'000, start[batch])) | sparsemax
                     | reweight(weight * select(kv_idx > q_idx, 2 * far, far) * 1e-9f) | weighted_sum);
    check_everywhere(compare(sum(q * k * select(q > k, 2 * far, 1)) * 1e-10f)
                     | weigh(sigmoid(score) * select(score > 0, 2 * far, far) * 1e-9f) | weighted_sum
                     | map(out * select(out > 0, 2 * far, far) * 1e-9f));
}

TEST_CASE("integers along the edges of a graph are exact", "[driver]") {
    testing::call_sizes const n{
        .batches = 2, .heads = 3, .key_heads = 3, .queries = 40, .keys = 70, .features = 3, .value_features = 4};
    auto const g = random_graph(40, 70, 300);
    auto const ids = spread_out<std::int64_t>(far);
    auto const t = param(ids);
    check_fused<float>(
        compare(sum(select(t[q_idx] == t[kv_idx], q * k, abs(q - k))) + sum(k) * floor_div(t[kv_idx], far))
            | rescore(score + select(t[kv_idx] > far, 1, head * far) * 1e-9f) | neighbors(g)
            | where(t[q_idx] == t[kv_idx] || t[q_idx] < select(kv_idx > q_idx, far, 2 * far)) | softmax
            | reweight(weight * select(t[q_idx] < t[kv_idx], 2, 1)) | weighted_sum,
        n);
}

TEST_CASE("squares of positions are exact beyond the root of 2^31", "[driver]") {
    index_t const n = 50'000, from = 46'350, to = 46'360;
    testing::dice random(3);
    auto const key = testing::random_tensor<float>(random, std::array<index_t, 2>{n, 1});
    auto const value = testing::random_tensor<float>(random, std::array<index_t, 2>{n, 1});
    auto const squares = where(kv_idx * kv_idx >= from * from && kv_idx * kv_idx < to * to);
    for (index_t const queries : {3, 40}) {
        auto const query = testing::random_tensor<float>(random, std::array<index_t, 2>{queries, 1});
        tensor<float, 2> mine({queries, 1}), same({queries, 1});
        attend(dot | squares | softmax | weighted_sum, query, key, value, mine);
        attend(dot | where(kv_idx >= from && kv_idx < to) | softmax | weighted_sum, query, key, value, same);
        for (index_t i = 0; i < queries; ++i) CHECK(mine(i, 0) == same(i, 0));
    }
}

TEST_CASE("an unsigned integer without a sign bit to spare is refused", "[driver]") {
    std::vector<std::uint64_t> ids(70, 7);
    ids[33] = std::uint64_t{1} << 63;
    testing::dice random(3);
    auto const x = testing::random_tensor<float>(random, std::array<index_t, 2>{70, 3});
    tensor<float, 2> result({70, 3});
    auto const spec = scaled_dot | document(ids) | softmax | weighted_sum;
    CHECK_THROWS_AS(attend(spec, x, result), shape_error);
    ids[33] = (std::uint64_t{1} << 63) - 1;
    CHECK_NOTHROW(attend(spec, x, result));
}
