// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/packed_bits.hpp>
#include <fovea/expr/bound.hpp>
#include <fovea/expr/functions.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

testing::lengths const sizes;

/// The interval of a number over random boxes holds for every pair in them, up to the rounding of the
/// number itself: a compiler may fuse its multiplications and additions, and not those of the bounds.
template <class E>
void check_bounds(E const& e) {
    testing::dice random(5);
    for (int trial = 0; trial < 25; ++trial) {
        auto const where = testing::detail::random_box(random, sizes);
        interval<double> const said = bound(e, where);
        testing::detail::for_each_pair(where, [&](index_t b, index_t h, index_t i, index_t j) {
            auto const value = static_cast<double>(evaluate(e, testing::detail::pair_at(b, h, i, j, sizes)));
            double const rounding = 4 * std::numeric_limits<double>::epsilon() * std::abs(value);
            if (!(said.lo - rounding <= value && value <= said.hi + rounding))
                FAIL(print(e) << " is " << value << " in [" << said.lo << ", " << said.hi << "]");
        });
    }
    SUCCEED();
}

template <class E>
void check_condition(E const& e, bool has_nan = false) {
    CHECK_NOTHROW(testing::detail::check_condition_bounds(e, sizes, 3, has_nan));
}

/// The sharpest conditions on a number: those that its own bounds fulfil.
template <class E>
void check_at_its_bounds(E const& e) {
    interval<double> const said = bound(e, testing::detail::whole(sizes));
    check_condition(e <= said.hi, true);
    check_condition(!(e >= said.lo), true);
}

}  // namespace

TEST_CASE("bounds hold the value of a number everywhere in a box", "[expr]") {
    std::vector<int> const buckets{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3,
                                   2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9};
    std::vector<float> const slopes{0.5f, -0.25f, 2, 0};
    auto const bucket = param(buckets);
    auto const slope = param(slopes);
    check_bounds(q_idx - kv_idx);
    check_bounds((q_idx - kv_idx) * (q_idx - kv_idx) - 3 * head);
    check_bounds((q_idx - kv_idx) / 4 * 2 + (kv_idx + batch) % 5);
    check_bounds(slope[head] * (kv_idx - q_idx));
    check_bounds(bucket[kv_idx] * bucket[min(q_idx, kv_idx)]);
    check_bounds(exp(-abs(kv_idx - q_idx) / 8.0) + tanh(q_idx) - sigmoid(kv_idx - 15));
    check_bounds(square(q_idx - 10) + max(kv_idx, 12) * sqrt(q_idx));
    check_bounds(select(q_idx < kv_idx, q_idx, 2 * kv_idx - 0.5));
    check_bounds(relu(q_idx - 9) + leaky_relu(kv_idx - 9, 0.2f) + elu(0.1 * (kv_idx - q_idx)));
    check_bounds(log(q_idx + 1) * kv_len / q_len);
}

TEST_CASE("bounds settle a condition only where all pairs of a box agree", "[expr]") {
    std::vector<int> const documents{0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 4,
                                     4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 7, 7, 7, 7, 7};
    auto const document = param(documents);
    check_condition(kv_idx <= q_idx);
    check_condition(q_idx - kv_idx < 4 && kv_idx - q_idx <= 2);
    check_condition(document[q_idx] == document[kv_idx]);
    check_condition(document[q_idx] == document[kv_idx] && kv_idx <= q_idx);
    check_condition((q_idx - kv_idx) % 3 == 0 || kv_idx < 2);
    check_condition(q_idx / 8 == kv_idx / 8);
    check_condition(!(abs(q_idx - kv_idx) > 3) || head == 2);
    check_condition(kv_idx < 10 * (batch + 1) && q_idx != 7);
    check_condition(log(q_idx - kv_idx) < 1.5, true);  // the logarithm of a negative number is below nothing
    check_condition(sqrt(q_idx - kv_idx) < 100, true);
}

TEST_CASE("bounds are exact where each index occurs once", "[expr]") {
    box const where{0, 0, {8, 15}, {0, 7}, 32, 32, 16};
    STATIC_REQUIRE(bound(kv_idx <= q_idx, box{0, 0, {8, 15}, {0, 7}, 32, 32, 16}).always());
    STATIC_REQUIRE(bound(kv_idx <= q_idx, box{0, 0, {0, 7}, {8, 15}, 32, 32, 16}).never());
    STATIC_REQUIRE(bound(kv_idx <= q_idx, box{0, 0, {0, 7}, {0, 7}, 32, 32, 16}) == truth{});
    CHECK(bound(q_idx - kv_idx, where) == interval<index_t>{1, 15});
    CHECK(bound(literal<bool>{true}, where).always());
}

TEST_CASE("tables are bounded by their least and greatest element in range", "[expr]") {
    std::vector<int> const table{5, 1, 4, 8, 2};
    box where{0, 0, {1, 3}, {2, 9}, 5, 5, 16};
    CHECK(bound(param(table)[q_idx], where) == interval<index_t>{1, 8});
    CHECK(bound(param(table)[kv_idx], where) == interval<index_t>{2, 8});  // what lies outside is not looked at

    std::vector<float> const holes{1, std::numeric_limits<float>::quiet_NaN(), 2, 3, 4};
    CHECK(bound(param(holes)[q_idx] < 100, where) == truth{});

    std::unique_ptr<bool[]> const marks(new bool[5]{false, true, true, true, false});
    auto const mark = param(view<bool const, 1>(marks.get(), {5}));
    CHECK(bound(mark[q_idx], where).always());
    CHECK(bound(mark[kv_idx], where) == truth{});
    std::vector<std::uint8_t> const byte{0b01110};
    auto const packed = param(packed_bits(byte, 5));
    CHECK(bound(packed[q_idx], where).always());
    CHECK(bound(packed[kv_idx], where) == truth{});
    CHECK(bound(packed[q_idx - 1], box{0, 0, 1, 0, 5, 5, 16}).never());

    std::vector<float> const plane{1, 2, 3, 4, 5, 6};
    where.head = {0, 1};
    CHECK(bound(param(view<float const, 2>(plane.data(), {2, 3}))(head, q_idx), where) == interval<double>{2, 6});
}

TEST_CASE("what may be a NaN fulfils no comparison for certain", "[expr]") {
    constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<float> numbers(31);
    for (int i = 0; i < 31; ++i)
        numbers[static_cast<std::size_t>(i)] =
            i % 7 == 3 ? std::numeric_limits<float>::quiet_NaN() : 0.5f * static_cast<float>(i - 10);
    auto const holes = param(numbers)[kv_idx];
    auto const check = [](auto const&... e) { (check_at_its_bounds(e), ...); };
    check(holes, -holes, holes + 1, q_idx - holes, holes * 0.0, holes / 2, 2 / holes, abs(holes), square(holes));
    check(min(holes, 0), min(0, holes), max(holes, 0), max(0, holes), relu(holes), select(q_idx < 4, holes, 1));
    check(exp(holes), log(abs(holes)), tanh(holes), erf(holes), sqrt(abs(holes)), sigmoid(holes), silu(holes));
    check(gelu(holes), leaky_relu(holes, 0.1), elu(holes), sin(holes), cos(holes), tan(holes), atan(holes));
    check(asin(holes), acos(holes), sinh(holes), cosh(holes), asinh(holes), acosh(holes), atanh(holes), exp2(holes));
    check(expm1(holes), log2(holes), log10(holes), log1p(abs(holes)), cbrt(holes), erfc(holes), hypot(holes, 1));
    check(atan2(holes, 1), atan2(1, holes), pow(abs(holes), 2), pow(2, holes));
    check(abs(sqrt(real(kv_idx) - 5)), relu(log(real(kv_idx) - 5)), exp(real(kv_idx) / real(q_idx)));
    check(abs(real(kv_idx) * infinity), exp(real(q_idx - kv_idx) / real(q_idx - kv_idx)));
    check(real(kv_idx) * nan, min(nan, kv_idx), max(nan, kv_idx), max(kv_idx, nan), select(kv_idx < 5, nan, kv_idx));
    check_condition(select(kv_idx < 5, nan, 7.0) == 7.0, true);
}

TEST_CASE("powers of -0 are of either sign", "[expr]") {
    std::vector<float> zeros(31);
    for (std::size_t i = 0; i < zeros.size(); ++i) zeros[i] = i % 3 == 0 ? -0.f : 0.f;
    check_condition(pow(param(zeros)[kv_idx], -1) > 0, true);
    check_condition(pow(-param(zeros)[kv_idx], -1) < 0, true);
    check_condition(1 / param(zeros)[kv_idx] < 0, true);
}
