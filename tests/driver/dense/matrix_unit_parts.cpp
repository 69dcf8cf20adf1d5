// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: night
// Attention of operands that are sums of several bfloat16, by the products of a matrix unit, or of its emulation.
#include <fovea/core/paged.hpp>
#include <fovea/fovea.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"
#include "support/matrix_unit.hpp"
#include "support/matrix_unit_rows.hpp"
#include "support/same_bits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(),
                not_a_number = std::numeric_limits<float>::quiet_NaN(), greatest = std::numeric_limits<float>::max();

constexpr auto plain = scaled_dot | softmax | weighted_sum;
constexpr auto exact = plain | precision(bf16x3);
constexpr auto bounded = dot | rescore(max(score, -50.f)) | where(abs(q_idx - kv_idx) < 19 && kv_idx % 50 < 40)
                       | softmax_plus_one | weighted_sum | precision(bf16x3);
constexpr auto at_end = scaled_dot | causal_at_end | softmax | weighted_sum | precision(bf16x3);

template <class Element>
std::vector<double> numbers_of(tensor<Element, 4> const& x) {
    std::vector<double> all(x.elements.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<double>(x.elements[i]);
    return all;
}

/// A result against the definition in double, with what plain loops in float lose as the measure, and what the type of
/// the result cannot hold.
template <class Spec, class Q, class K, class V, class Out>
void check_result(Spec const& spec, view<Q, 4> const& q, view<K, 4> const& k, view<V, 4> const& v,
                  tensor<Out, 4> const& got) {
    tensor<float, 4> expected(got.extents), plainly(got.extents);
    reference::attend(spec, q, k, v, expected);
    reference::attend_in<float>(spec, q, k, v, plainly);
    auto allowed = testing::tolerance_for<float, float>(expected.elements, plainly.elements);
    if constexpr (std::is_same_v<Out, float16>) {  // weights of two parts, values up to 2
        allowed.relative += 0x1.02p-11;
        allowed.absolute += 0x1p-17;
    }
    auto const numbers = numbers_of(got), want = numbers_of(expected);
    testing::check_close<double, double>("result", want, numbers, allowed);
}

/// Rows of any distance, in this many threads: the definition, and the same bits.
template <class Q, class K, class V, class Out, class Spec>
void check(Spec const& spec, unit_sizes const& s, index_t gap = 0) {
    CAPTURE(s.queries, s.keys, s.features, s.value_features, s.heads, s.group, gap);
    testing::dice random(static_cast<unsigned>(31 * s.queries + s.keys));
    rows_in_memory<Q> const q(random, s.heads * s.group, s.queries, s.features, gap);
    rows_in_memory<K> const k(random, s.heads, s.keys, s.features, gap);
    rows_in_memory<V> const v(random, s.heads, s.keys, s.value_features, gap);
    tensor<Out, 4> got({1, s.heads * s.group, s.queries, s.value_features});
    workspace scratch;
    attend_on<with_matrix_unit>(serial, scratch, spec, q.rows, k.rows, v.rows, got);
    check_result(spec, q.rows, k.rows, v.rows, got);
    for (int n : {2, 5}) {
        tensor<Out, 4> threaded(got.extents);
        attend_on<with_matrix_unit>(threads(n), scratch, spec, q.rows, k.rows, v.rows, threaded);
        CHECK(same_bits(got, threaded));
    }
}
template <class Spec>
void check_float(Spec const& spec, unit_sizes const& s, index_t gap = 0) {
    check<float, float, float, float>(spec, s, gap);
}
void check_float16(unit_sizes const& s, index_t gap = 0) { check<float16, float16, float16, float16>(plain, s, gap); }

/// A call on (heads 1) rows of float whose numbers a test sets before it runs.
struct small_call {
    tensor<float, 4> query, key, value, result, expected;

    explicit small_call(index_t queries = 40, index_t keys = 70, index_t features = 33, index_t value_features = 20)
        : query({1, 1, queries, features}),
          key({1, 1, keys, features}),
          value({1, 1, keys, value_features}),
          result({1, 1, queries, value_features}),
          expected(result.extents) {
        testing::dice random(7);
        for (auto* rows : {&query, &key, &value})
            for (auto& x : *rows) x = static_cast<float>(random.real(-2, 2));
    }
    template <class Spec>
    void run(Spec const& spec) {
        workspace scratch;
        attend_on<with_matrix_unit>(serial, scratch, spec, query, key, value, result);
    }
    /// The definition in float, where sums may be infinite that are not in double.
    template <class Spec>
    void check(Spec const& spec) {
        run(spec);
        reference::attend_in<float>(spec, query, key, value, expected);
        auto const want = numbers_of(expected), got = numbers_of(result);
        testing::check_close<double, double>("result", want, got, {1e-5, 1e-5});
    }
};

}  // namespace

TEST_CASE("float takes the matrix unit where its precision is asked for, float16 without that", "[driver]") {
    auto const takes = [](auto const& spec, auto query, auto key, auto result, index_t queries) {
        using operands = driver::operands<decltype(query), view<decltype(key) const, 4>, view<decltype(key) const, 4>,
                                          decltype(result)>;
        return plan::make_plan<float, with_matrix_unit, std::remove_cvref_t<decltype(spec)>, operands>(
            {queries, 1, 200, 64, 64});
    };
    auto const asked = takes(exact, 0.f, 0.f, 0.f, 100);
    CHECK((asked.matrix_unit && asked.keys == plan::reading::copied && asked.values == plan::reading::packed));
    CHECK_FALSE(takes(plain, 0.f, 0.f, 0.f, 100).matrix_unit);
    CHECK_FALSE(takes(plain, 0.f, bfloat16{}, 0.f, 100).matrix_unit);
    CHECK(takes(exact, 0.f, bfloat16{}, 0.f, 100).matrix_unit);
    CHECK_FALSE(takes(exact, 0.f, 0.f, 0.f, 3).matrix_unit);
    CHECK(takes(plain, float16{}, float16{}, float16{}, 100).matrix_unit);
    CHECK(takes(plain, bfloat16{}, std::int8_t{}, bfloat16{}, 100).matrix_unit);
    CHECK_FALSE(takes(plain, float16{}, std::int16_t{}, float16{}, 100).matrix_unit);
}

TEST_CASE("explain says which products of parts are taken, or why none are", "[driver]") {
    small_call c;
    auto const text = [&](auto const& spec) {
        return explain<with_matrix_unit>(spec, c.query, c.key, c.value, c.result);
    };
    CHECK_THAT(text(exact),
               ContainsSubstring("precision   bf16x3 by the matrix unit: 6 products of parts for scores, 6 "
                                 "for values\n"));
    CHECK_THAT(text(plain | precision(bf16x2)), ContainsSubstring("bf16x2 by the matrix unit: 3 products"));
    CHECK_THAT(
        text(scaled_dot | sparsemax | weighted_sum | precision(bf16x3)),
        ContainsSubstring("precision   float arithmetic: the score or the normalizer needs a key in each lane\n"));
    CHECK_THAT(
        text(compare(sum(square(q) * k)) | softmax | weighted_sum | precision(bf16x3)),
        ContainsSubstring("precision   float arithmetic: the score is no product of the numbers of query and key\n"));
    tensor<std::int16_t, 4> integers(c.key.extents);
    CHECK_THAT(
        explain<with_matrix_unit>(exact, c.query, integers, c.value, c.result),
        ContainsSubstring("precision   float arithmetic: an operand is not stored as numbers that have such parts"));
    small_call few(2);
    CHECK_THAT(explain<with_matrix_unit>(exact, few.query, few.key, few.value, few.result),
               ContainsSubstring("precision   float arithmetic: for few queries a key is in each lane\n"));
}

TEST_CASE("float in parts: any number of queries, keys and features", "[driver]") {
    for (index_t n : {12, 17, 31, 33, 65, 290}) check_float(exact, {n, 70, 64, 32});
    for (index_t n : {1, 2, 15, 16, 17, 31, 33, 63, 255, 257, 300}) check_float(exact, {40, n, 32, 16});
    for (index_t n = 1; n <= 33; ++n) check_float(exact, {37, 41, n, 34 - n});
    check_float(exact, {33, 150, 128, 128});
    check_float(exact, {20, 70, 96, 80}, 5);
    check_float(exact, {20, 0, 32, 16});
    check_float(exact, {20, 17, 0, 16});
    check_float(exact, {20, 17, 32, 0});
}

TEST_CASE("float in parts: groups, masks, and what a score makes of its product", "[driver]") {
    check_float(at_end, {3, 140, 64, 32, 2, 16}, 2);
    check_float(at_end, {130, 145, 40, 70, 2, 2});
    check_float(bounded, {120, 140, 64, 64});
}

TEST_CASE("float16, and operands of different types, in parts", "[driver]") {
    for (index_t n : {12, 33, 65}) check_float16({n, 70, 64, 32});
    for (index_t n : {1, 17, 31, 33, 257}) check_float16({40, n, 32, 16});
    for (index_t n = 1; n <= 33; n += 4) check_float16({37, 41, n, 34 - n}, 1);
    check<float16, std::uint8_t, float16, float>(plain, {50, 300, 64, 40});
    check<float, bfloat16, std::int8_t, float>(exact, {50, 300, 40, 24});
}

TEST_CASE("integers with a scale for each block of features are float in parts", "[driver]") {
    testing::dice random(21);
    tensor<std::int8_t, 4> integers({1, 2, 83, 40});
    tensor<float, 4> query({1, 2, 50, 40}), scales({1, 2, 83, 2}), got(query.extents);
    for (auto& x : integers) x = static_cast<std::int8_t>(random.between(-127, 127));
    for (auto& x : scales) x = static_cast<float>(random.real(0, 0.02));
    for (auto& x : query) x = static_cast<float>(random.real(-2, 2));
    auto const rows = block_scaled(integers, scales);
    workspace scratch;
    attend_on<with_matrix_unit>(serial, scratch, exact, query, rows, rows, got);
    tensor<float, 4> numbers(integers.extents);
    for (index_t h = 0; h < 2; ++h)
        for (index_t n = 0; n < 83; ++n)
            for (index_t c = 0; c < 40; ++c) numbers(0, h, n, c) = rows(0, h, n, c);
    check_result(exact, query.view(), numbers.view(), numbers.view(), got);
    CHECK_THAT(explain<with_matrix_unit>(exact, query, rows, rows, got), ContainsSubstring("by the matrix unit"));
}

TEST_CASE("two parts of float keep 16 bits of each number", "[driver]") {
    small_call c(60, 300, 64, 40);
    auto const spec = plain | precision(bf16x2);
    c.run(spec);
    reference::attend(spec, c.query, c.key, c.value, c.expected);
    double farthest = 0;
    for (std::size_t i = 0; i < c.expected.elements.size(); ++i)
        farthest = std::max(farthest, std::abs(static_cast<double>(c.result.elements[i]) - c.expected.elements[i]));
    CHECK(farthest < 1e-4);
    CHECK(farthest > 1e-7);  // it is not the arithmetic of float
}

TEST_CASE("the log-sum-exp of scores in parts", "[driver]") {
    small_call c;
    tensor<float, 3> logs({1, 1, 40}), expected_logs(logs.extents);
    workspace scratch;
    attend_on<with_matrix_unit>(serial, scratch, at_end, c.query, c.key, c.value, c.result, lse(logs));
    reference::attend(at_end, c.query, c.key, c.value, c.expected, lse(expected_logs));
    testing::check_close<float, float>("lse", expected_logs.elements, logs.elements, {2e-6, 1e-6});
    testing::check_close<float, float>("result", c.expected.elements, c.result.elements, {2e-6, 1e-5});
}

TEST_CASE("float in parts of pages", "[driver]") {
    testing::dice random(9);
    for (index_t slots : {32, 7}) {
        index_t const pages = 140 / slots;
        unit_sizes const s{70, slots * pages, 40, 24, 2, 1};
        rows_in_memory<float> const query(random, 2, s.queries, s.features, 0), key(random, 2, s.keys, s.features, 0),
            value(random, 2, s.keys, s.value_features, 0);
        pages_from_the_end<float> const in_pages(key.rows, value.rows, slots);
        CAPTURE(slots);
        tensor<float, 4> got({1, 2, s.queries, s.value_features});
        workspace scratch;
        attend_on<with_matrix_unit>(serial, scratch, at_end, query.rows, paged(in_pages.keys, in_pages.table),
                                    paged(in_pages.values, in_pages.table), got);
        check_result(at_end, query.rows, key.rows, value.rows, got);
    }
}

TEST_CASE("float in parts that is not finite is what the definition says", "[driver]") {
    for (float const x : {infinity, -infinity, not_a_number, greatest, -greatest, 0x1.ffp127f}) {
        CAPTURE(x);
        small_call values;
        values.value(0, 0, 3, 5) = values.value(0, 0, 66, 17) = x;
        values.check(exact);
        values.check(at_end);
        small_call one_for_all;  // a value that parts hold exactly, of weights that they do not
        for (auto& v : one_for_all.value) v = 1;
        one_for_all.value(0, 0, 3, 5) = x;
        one_for_all.check(exact);
        small_call keys;
        keys.key(0, 0, 41, 32) = x;
        std::fill(keys.query.begin(), keys.query.end(), 0x1p-120f);  // the greatest number makes no infinite score
        keys.check(exact);
        small_call queries;
        std::fill(queries.key.begin(), queries.key.end(), 0x1p-120f);
        queries.query(0, 0, 33, 7) = x;
        queries.check(exact);
    }
}

TEST_CASE("scores in parts beyond all numbers are infinite, not NaN", "[driver]") {
    small_call c;
    for (index_t f = 0; f < 33; ++f) {
        for (index_t n = 0; n < 40; n += 3) c.query(0, 0, n, f) = 1e25f * (1 + std::abs(c.query(0, 0, n, f)));
        for (index_t n = 1; n < 70; n += 4) c.key(0, 0, n, f) = -1e25f * (1 + std::abs(c.key(0, 0, n, f)));
    }
    c.check(bounded);
}

TEST_CASE("a row that is not finite changes no bit of the others", "[driver]") {
    small_call c;
    c.run(exact);
    auto const before = c.result;
    c.query(0, 0, 21, 4) = not_a_number;
    c.run(exact);
    bool same = true, is_nan = true;
    for (index_t n = 0; n < 40; ++n)
        for (index_t f = 0; f < 20; ++f) {
            if (n == 21) is_nan = is_nan && std::isnan(c.result(0, 0, n, f));
            else same = same && c.result(0, 0, n, f) == before(0, 0, n, f);
        }
    CHECK((same && is_nan));
}

TEST_CASE("parts and products below the least normal number count as 0", "[driver]") {
    small_call c;
    for (auto& v : c.value) v *= 0x1p-112f;
    c.run(exact);
    reference::attend(exact, c.query, c.key, c.value, c.expected);
    float farthest = 0;
    for (std::size_t i = 0; i < c.expected.elements.size(); ++i)
        farthest = std::max(farthest, std::abs(c.result.elements[i] - c.expected.elements[i]));
    CHECK(farthest > 0);
    CHECK(farthest < 70 * 6 * 0x1p-126f);  // of each product of parts
}

TEST_CASE("values that are not finite, of weights in parts, are what the definition says", "[driver]") {
    tensor<bfloat16, 4> x({1, 1, 40, 32}, bfloat16(0.5f));
    tensor<float, 4> got(x.extents);
    x(0, 0, 7, 9) = bfloat16(infinity);
    tensor<bfloat16, 4> const same({1, 1, 40, 32}, bfloat16(0.5f));
    workspace scratch;
    attend_on<with_matrix_unit>(serial, scratch, plain, same, same, x, got);
    bool right = true;
    for (index_t n = 0; n < 40; ++n)
        for (index_t f = 0; f < 32; ++f)
            right = right && (f == 9 ? got(0, 0, n, f) == infinity : std::abs(got(0, 0, n, f) - 0.5f) < 1e-6f);
    CHECK(right);
}
