// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Conditions that are known for a row, a head or a batch, beside those that differ from lane to lane: in `select` of
// integers and reals, compared with each other, and chosen by `select`.
#include <fovea/fovea.hpp>

#include "catch.hpp"
#include "support/fused.hpp"

#include <cstdint>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {
template <class Widths = lane_widths, class Score, class Mask>
void check(Score const& score_of, Mask const& condition) {
    check_fused<float, Widths>(dot | rescore(score_of) | where(condition) | softmax | weighted_sum);
}
}  // namespace

TEST_CASE("select takes integers whatever its condition differs by", "[driver]") {
    auto const by_head = select(head == 1, kv_idx, 0) - select(head % 2 == 0, q_idx, kv_idx % 5);
    check<lane_widths>(score + by_head * 0.125, select(kv_idx < 3, kv_idx, q_idx) % 3 != 1);
    check(select(head % 2 == 1, score, kv_idx) - select(batch == 0, q_idx - kv_idx, 7),
          select(q_idx % 2 == 0, q_idx, kv_idx) >= 2);
}

TEST_CASE("select takes integers of 64 bits whatever its condition differs by", "[driver]") {
    std::vector<std::int64_t> const wide{1, std::int64_t{1} << 40, -3, 5, -(std::int64_t{1} << 41)};
    auto const element = param(wide)[kv_idx % 5];
    check<lane_widths>(score + select(head == 0, element, kv_idx) % 16 * 0.125,
                       select(batch == 0, element, q_idx) % 3 != 0);
}

TEST_CASE("conditions are compared, and chosen", "[driver]") {
    check<lane_widths>(score, (q_idx % 2 == 0) == (kv_idx % 3 == 0) || kv_idx == 0);
    check(score, (head == 1) != (kv_idx < 4) || (q_idx < 32) == (kv_idx < 32));
    check(score, select(head == 0, kv_idx <= q_idx, kv_idx % 2 == 0));
}

TEST_CASE("a truth value of C++ is a condition like others", "[driver]") {
    for (bool const flag : {false, true}) {
        check(score + select(flag, 0.5 * (kv_idx % 2), score), select(!flag, kv_idx <= q_idx, kv_idx % 2 == 0));
        check(select(flag, kv_idx, q_idx) - score, (kv_idx < 4) == flag || select(kv_idx % 3 == 0, flag, !flag));
    }
}

TEST_CASE("conditions on features choose integers, in indices as well", "[driver]") {
    std::vector<float> const five{0.5f, -0.25f, 1, 0, -1};
    std::vector<int> const wholes{3, 1, 4, 1, 5};
    auto const real = param(five);
    auto const whole = param(wholes);
    check(score + 0.25 * select(score > 0.37, kv_idx % 5, 2) - 0.125 * (select(score < 0.21, q_idx, 0) % 3),
          kv_idx % 4 != 1);
    check(score + real[select(score > 0.37, 4, kv_idx % 5)] - 0.25 * whole[select(score < 0.21, q_idx % 5, 0)], always);
    auto const of_query = select(sum(q) > 0.37, 4, q_idx % 5);
    auto const of_key = select(sum(k) > 0.21, 3, kv_idx % 5);
    check_fused_at_all_widths<float>(compare(sum(q * k) + real[of_query] + 0.25 * whole[of_key]
                                             + select((of_query + kv_idx) % 3 == of_key % 2, 0.5, 0))
                                     | softmax | weighted_sum);
}

TEST_CASE("conditions on weights and results choose elements of a table", "[driver]") {
    std::vector<float> const five{0.5f, -0.25f, 1, 0, -1};
    auto const table = param(five);
    check_fused<float>(dot | softmax | reweight(weight + table[select(weight > 0.0531, 3, kv_idx % 5)]) | weighted_sum);
    check_fused<float>(dot | softmax | weighted_sum | map(out + table[select(out > 0.0131, 1, q_idx % 5)]));
}

TEST_CASE("conditions that are compared leave blocks out", "[driver]") {
    auto const same_half = (q_idx < 32) == (kv_idx < 32);
    CHECK(bound(same_half, box{0, 0, {0, 31}, {32, 63}, 64, 64}).never());
    CHECK(bound(same_half, box{0, 0, {32, 63}, {32, 63}, 64, 64}).always());
    CHECK(!bound(same_half, box{0, 0, {0, 63}, {0, 31}, 64, 64}).never());
    CHECK(!bound(same_half, box{0, 0, {0, 63}, {0, 31}, 64, 64}).always());
}
