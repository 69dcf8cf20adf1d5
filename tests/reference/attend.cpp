// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/causal_at_end.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

using namespace fovea;
using placeholders::kv_idx;
using placeholders::q_idx;
using placeholders::score;

namespace {

constexpr auto plain = scaled_dot | softmax | weighted_sum;

/// A storage type of a user's: the upper half of a float.
struct upper_half {
    std::uint16_t bits = 0;
    upper_half() = default;
    explicit upper_half(float x) : bits(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16)) {}
    operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

template <class T = double>
auto made(unsigned seed, extents_t<4> sizes) {
    testing::dice random(seed);
    return testing::random_tensor<T, 4>(random, sizes);
}

}  // namespace

TEST_CASE("two keys by hand", "[reference]") {
    std::vector<double> const q{2}, k{1, 3}, v{10, 20};
    tensor<double, 2> out({1, 1}), w({1, 2});
    tensor<double, 1> sums({1});
    reference::attend(dot | softmax | weighted_sum, view<double const, 2>(q.data(), {1, 1}),
                      view<double const, 2>(k.data(), {2, 1}), view<double const, 2>(v.data(), {2, 1}), out, weights(w),
                      lse(sums));
    double const e = std::exp(-4);  // scores 2 and 6
    CHECK(w(0, 0) == Approx(e / (1 + e)));
    CHECK(out(0, 0) == Approx(10 * e / (1 + e) + 20 / (1 + e)));
    CHECK(sums(0) == Approx(6 + std::log1p(e)));
}

TEST_CASE("query heads share keys and values in groups", "[reference]") {
    auto const q = made(1, {2, 6, 3, 4}), k = made(2, {2, 2, 5, 4}), v = made(3, {2, 2, 5, 3});
    tensor<double, 4> out({2, 6, 3, 3});
    reference::attend(plain, q, k, v, out);
    for (index_t h = 0; h < 6; ++h) {
        tensor<double, 2> one({3, 3});
        auto const of = [](auto const& t, index_t b, index_t head) {
            return view<double const, 2>(&t(b, head, 0, 0), {t.extent(2), t.extent(3)});
        };
        reference::attend(plain, of(q, 1, h), of(k, 1, h / 3), of(v, 1, h / 3), one);
        for (index_t i = 0; i < 3; ++i)
            for (index_t c = 0; c < 3; ++c) CHECK(out(1, h, i, c) == one(i, c));
    }
}

TEST_CASE("rows without a visible key give zeros and -inf", "[reference]") {
    auto const q = made(1, {1, 1, 5, 4}), k = made(2, {1, 1, 2, 4});
    tensor<double, 4> out({1, 1, 5, 4}, 9), w({1, 1, 5, 2}, 9);
    tensor<double, 3> sums({1, 1, 5}, 9);
    reference::attend(scaled_dot | causal_at_end | softmax | weighted_sum, q, k, k, out, weights(w), lse(sums));
    for (index_t i = 0; i < 3; ++i) {
        CHECK(sums(0, 0, i) == excluded<double>);
        CHECK(w(0, 0, i, 0) == 0);
        for (index_t c = 0; c < 4; ++c) CHECK(out(0, 0, i, c) == 0);
    }
    CHECK(w(0, 0, 3, 0) == 1);

    tensor<double, 4> const none({1, 1, 0, 4});
    reference::attend(plain, q, none, none, out);
    for (double const x : out) CHECK(x == 0);
}

TEST_CASE("nothing in a masked position reaches a result", "[reference]") {
    auto const q = made(1, {1, 2, 4, 3});
    auto k = made(2, {1, 2, 4, 3}), v = made(3, {1, 2, 4, 3});
    tensor<double, 4> clean(q.extents), dirty(q.extents);
    auto const spec = scaled_dot | where(kv_idx != 2) | softmax | weighted_sum;
    reference::attend(spec, q, k, v, clean);
    for (index_t h = 0; h < 2; ++h)
        for (index_t c = 0; c < 3; ++c) {
            k(0, h, 2, c) = std::numeric_limits<double>::quiet_NaN();
            v(0, h, 2, c) = std::numeric_limits<double>::infinity();
        }
    reference::attend(spec, q, k, v, dirty);
    CHECK(clean.elements == dirty.elements);
}

TEST_CASE("a score of minus infinity takes a pair out like a mask", "[reference]") {
    auto const q = made(1, {1, 1, 3, 3});
    auto v = made(3, {1, 1, 3, 3});
    tensor<double, 4> masked(q.extents), barred(q.extents);
    std::vector<double> const bias{0, excluded<double>, 0};
    reference::attend(scaled_dot | where(kv_idx != 1) | softmax | weighted_sum, q, q, v, masked);
    v(0, 0, 1, 0) = std::numeric_limits<double>::quiet_NaN();
    reference::attend(scaled_dot | rescore(score + param(bias)[kv_idx]) | softmax | weighted_sum, q, q, v, barred);
    CHECK(masked.elements == barred.elements);
}

TEST_CASE("a visible NaN shows in its row and in no other", "[reference]") {
    auto const q = made(1, {1, 1, 4, 3});
    auto k = made(2, {1, 1, 4, 3});
    k(0, 0, 2, 1) = std::numeric_limits<double>::quiet_NaN();
    tensor<double, 4> out(q.extents);
    reference::attend(scaled_dot | causal | softmax | weighted_sum, q, k, q, out);
    for (index_t i = 0; i < 4; ++i) CHECK(std::isnan(out(0, 0, i, 0)) == (i >= 2));
}

TEST_CASE("tables are read for visible pairs only, and out of range is an error that says so", "[reference]") {
    auto const q = made(1, {1, 1, 4, 3});
    tensor<double, 4> out(q.extents);
    std::vector<float> const short_table{1, 2};
    auto const biased = rescore(score + param(short_table)[kv_idx]);
    CHECK_NOTHROW(reference::attend(scaled_dot | biased | where(kv_idx < 2) | softmax | weighted_sum, q, q, q, out));
    CHECK_THROWS_WITH(
        reference::attend(scaled_dot | biased | softmax | weighted_sum, q, q, q, out),
        "a table of extents (2) is read at 2 along axis 0, which has 2 elements: batch 0, head 0, q_idx 0, "
        "kv_idx 2");
}

TEST_CASE("nothing is written when something is wrong", "[reference]") {
    auto const q = made(1, {1, 1, 4, 3});
    tensor<double, 4> out(q.extents, 7);
    tensor<double, 4> w({1, 1, 4, 4}, 7);
    std::vector<float> const short_table{1, 2};
    CHECK_THROWS(reference::attend(scaled_dot | rescore(score + param(short_table)[q_idx]) | softmax | weighted_sum, q,
                                   q, q, out, weights(w)));
    for (double const x : out) CHECK(x == 7);
    for (double const x : w) CHECK(x == 7);
}

TEST_CASE("the orders of axes are only strides", "[reference]") {
    auto const q = made(1, {2, 3, 4, 5}), k = made(2, {2, 3, 6, 5});
    tensor<double, 4> expected({2, 3, 4, 5}), out({2, 4, 3, 5}), swapped({2, 6, 3, 5});
    reference::attend(plain, q, k, k, expected);
    for (index_t b = 0; b < 2; ++b)
        for (index_t h = 0; h < 3; ++h)
            for (index_t j = 0; j < 6; ++j)
                for (index_t c = 0; c < 5; ++c) swapped(b, j, h, c) = k(b, h, j, c);
    view<double const, 4> const by_position(swapped.data(), {2, 3, 6, 5}, {90, 5, 15, 1});
    view<double, 4> const result(out.data(), {2, 3, 4, 5}, {60, 5, 15, 1});
    reference::attend(plain, q, by_position, by_position, result);
    for (index_t h = 0; h < 3; ++h)
        for (index_t c = 0; c < 5; ++c) CHECK(out(1, 3, h, c) == expected(1, h, 3, c));
}

TEST_CASE("keys may be the same for every element of the batch", "[reference]") {
    auto const q = made(1, {3, 1, 2, 4}), k = made(2, {1, 1, 5, 4});
    view<double const, 4> const repeated(k.data(), {3, 1, 5, 4}, {0, 0, 4, 1});
    tensor<double, 4> out({3, 1, 2, 4}), one({1, 1, 2, 4});
    reference::attend(plain, q, repeated, repeated, out);
    reference::attend(plain, view<double const, 4>(&q(2, 0, 0, 0), {1, 1, 2, 4}), k, k, one);
    CHECK(out(2, 0, 1, 3) == one(0, 0, 1, 3));
}

TEST_CASE("operands and results may be of any type that is a float to whoever asks", "[reference]") {
    auto const q = made<float>(1, {1, 2, 5, 8});
    tensor<upper_half, 4> stored(q.extents), rounded(q.extents);
    tensor<float, 4> same(q.extents), expected(q.extents);
    for (std::size_t n = 0; n < q.elements.size(); ++n) {
        stored.elements[n] = upper_half(q.elements[n]);
        same.elements[n] = stored.elements[n];
    }
    reference::attend(plain, stored, stored, stored, rounded);
    reference::attend(plain, same, same, same, expected);
    for (std::size_t n = 0; n < q.elements.size(); ++n) CHECK(rounded.elements[n] == upper_half(expected.elements[n]));
}

TEST_CASE("a plain computation in float differs from the definition by rounding", "[reference]") {
    auto const q = made<float>(1, {1, 2, 9, 16}), k = made<float>(2, {1, 2, 11, 16});
    tensor<double, 4> exact(q.extents), rough(q.extents);
    reference::attend(plain, q, k, k, exact);
    reference::attend_in<float>(plain, q, k, k, rough);
    CHECK(exact.elements != rough.elements);
    for (std::size_t n = 0; n < exact.elements.size(); ++n)
        CHECK(std::abs(exact.elements[n] - rough.elements[n]) < 1e-5);
}
