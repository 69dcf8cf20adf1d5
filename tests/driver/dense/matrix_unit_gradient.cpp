// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: night
// Gradients of bfloat16 attention by the products of a matrix unit, or of its emulation, against the definition: every
// rest of queries, keys and features.
#include <fovea/core/paged.hpp>
#include <fovea/driver/explain_gradient.hpp>
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/matrix_unit.hpp"
#include "support/matrix_unit_rows.hpp"
#include "support/same_bits.hpp"
#include "support/worst.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

using sizes = unit_sizes;

/// Operands with any distance between rows, and the gradient of the result.
struct problem {
    testing::dice random;
    rows_in_memory<bfloat16> q, k, v, d;

    explicit problem(sizes const& s, index_t gap = 0)
        : random(static_cast<unsigned>(31 * s.queries + s.keys)),
          q(random, s.heads * s.group, s.queries, s.features, gap),
          k(random, s.heads, s.keys, s.features, gap),
          v(random, s.heads, s.keys, s.value_features, gap),
          d(random, s.heads * s.group, s.queries, s.value_features, gap) {}
};

/// The worst difference from the definition, in multiples of its largest element.
template <class T, int Rank>
double difference(tensor<T, Rank> const& found, tensor<double, Rank> const& expected) {
    double most = 0, scale = 0.1;
    for (std::size_t i = 0; i < expected.elements.size(); ++i) {
        scale = std::max(scale, std::abs(expected.elements[i]));
        most = worse(most, std::abs(static_cast<double>(found.elements[i]) - expected.elements[i]));
    }
    return most / scale;
}

/// Calls f with the gradients that are asked for: of queries, keys, values and tables.
template <class T, class F, class... Tables>
auto asked(problem const& of, F const& f, Tables const&... tables) {
    std::tuple to(tensor<T, 4>(of.q.rows.extents), tensor<T, 4>(of.k.rows.extents), tensor<T, 4>(of.v.rows.extents),
                  tensor<std::conditional_t<std::is_same_v<T, double>, double, float>,
                         static_cast<int>(std::tuple_size_v<decltype(tables.extents)>)>(tables.extents)...);
    std::apply(
        [&](auto& q, auto& k, auto& v, auto&... each) {
            f(grad(of.q.rows, q), grad(of.k.rows, k), grad(of.v.rows, v), grad(tables, each)...);
        },
        to);
    return to;
}

/// Gradients on the unit, in targets of type T, from those of the result and saved rows, if there are some.
template <class T, class Executor, class Spec, class D, class... Tables>
auto on_unit(Executor const& executor, Spec const& spec, problem const& of, D const& d, saved_rows<float> const& saved,
             Tables const&... tables) {
    return asked<T>(
        of,
        [&](auto const&... each) {
            workspace scratch;
            for (int times = 0; times < 2; ++times)  // scratch memory that has been used
                if (saved.complete())
                    gradient_on<with_matrix_unit>(executor, scratch, spec, of.q.rows, of.k.rows, of.v.rows, d, saved,
                                                  each...);
                else
                    gradient_on<with_matrix_unit>(executor, scratch, spec, of.q.rows, of.k.rows, of.v.rows, d, each...);
        },
        tables...);
}

/// The definition, with rows that are computed again and with saved ones, and the same bits in any number of threads.
template <class T = float, class Spec, class D, class... Tables>
void check(Spec const& spec, problem const& of, D const& d, double tolerance, Tables const&... tables) {
    auto const expected = asked<double>(
        of, [&](auto const&... each) { reference::gradient(spec, of.q.rows, of.k.rows, of.v.rows, d, each...); },
        tables...);
    saved_rows<float> none, saved;
    tensor<bfloat16, 4> out(of.d.rows.extents);
    workspace scratch;
    attend_on<with_matrix_unit>(serial, scratch, spec, of.q.rows, of.k.rows, of.v.rows, out, save(saved));
    for (auto const* rows : {&none, &saved}) {
        auto const got = on_unit<T>(threads(1), spec, of, d, *rows, tables...);
        auto const in_threads = on_unit<T>(threads(3), spec, of, d, *rows, tables...);
        [&]<std::size_t... N>(std::index_sequence<N...>) {
            CHECK(worse(0, difference(std::get<N>(got), std::get<N>(expected))...) < tolerance);
            CHECK((same_bits(std::get<N>(got), std::get<N>(in_threads)) && ...));
        }(std::make_index_sequence<3 + sizeof...(Tables)>());
    }
}
template <class T = float, class Spec>
void check(Spec const& spec, sizes const& s, index_t gap = 0, double tolerance = 1e-5) {
    CAPTURE(s.queries, s.keys, s.features, s.value_features, s.heads, s.group, gap);
    problem const of(s, gap);
    check<T>(spec, of, of.d.rows, tolerance);
}

auto const plain = scaled_dot | softmax | weighted_sum;
/// Query 0 sees nothing, no query every key, and vectors of queries see different granules of keys.
auto const masked =
    scaled_dot | where(kv_idx < q_idx && q_idx - kv_idx < 150 && kv_idx % 50 < 40) | softmax | weighted_sum;

}  // namespace

TEST_CASE("explain_gradient names the matrix unit where it multiplies operands as they are stored", "[driver]") {
    auto const names_it = [](std::string const& text) { return text.find("matrix unit") != std::string::npos; };
    CHECK(names_it(explain_gradient<bfloat16, with_matrix_unit>(plain)));
    CHECK(names_it(explain_gradient<bfloat16, with_matrix_unit>(masked)));
    CHECK_FALSE(names_it(explain_gradient<float, with_matrix_unit>(plain)));
    CHECK_FALSE(names_it(explain_gradient<bfloat16, arch::emulated<64, 32>>(plain)));
    CHECK_FALSE(
        names_it(explain_gradient<bfloat16, with_matrix_unit>(compare(sum(square(q) * k)) | softmax | weighted_sum)));
    CHECK_FALSE(names_it(explain_gradient<bfloat16, with_matrix_unit>(dot | sparsemax | weighted_sum)));
}

TEST_CASE("the matrix unit computes gradients of any number of queries, keys and features", "[driver]") {
    for (index_t n : {12, 16, 17, 31, 32, 33, 63, 127, 128, 129, 300}) check(plain, {n, 40, 32, 16});
    for (index_t n : {0, 1, 15, 16, 17, 31, 32, 33, 255, 256, 257, 300}) check(plain, {20, n, 32, 16});
    for (index_t n = 1; n <= 33; n += 4) check(plain, {21, 41, n, 34 - n});
    check(plain, {33, 150, 128, 96});
    check(plain, {20, 70, 96, 80}, 5);
    check(plain, {70, 20, 33, 65}, 3);
    check(plain, {20, 17, 32, 0});
    check(plain, {3, 140, 64, 32, 2, 5}, 2);  // heads that share keys and tiles
    check(plain, {50, 140, 40, 24, 2, 2});
}

TEST_CASE("the matrix unit computes gradients of bfloat16 with the precision of their targets", "[driver]") {
    sizes const s{150, 290, 64, 40};
    check<bfloat16>(plain, s, 0, 0x1p-7);
    check(plain, s);
    problem of(s);
    auto const d = testing::random_tensor<float>(of.random, of.d.rows.extents);
    check<float16>(plain, of, d, 0x1p-11);
    check(plain, of, d, 1e-5);
}

TEST_CASE("the matrix unit computes gradients under masks, and of rows in several tasks", "[driver]") {
    for (index_t n : {40, 129, 300}) check(masked, {n, n + 45, 48, 20}, 1);
    check(masked, {70, 40, 32, 32, 1, 3});
    REQUIRE(plan::query_splits(2, 1100) > 1);
    check(masked, {1100, 37, 16, 16, 2, 1});
}

TEST_CASE("the matrix unit computes gradients of tables that a score reads beside its product", "[driver]") {
    problem of({150, 170, 32, 16, 2, 2});
    auto const table = [&](auto... extents) {
        return testing::random_tensor<float>(of.random, extents_t<sizeof...(extents)>{extents...});
    };
    auto const slopes = table(index_t{4});
    auto const bias = table(index_t{4}, index_t{170});
    auto const factors = table(index_t{4});
    auto const spec = compare(param(factors)[head] * sum(q * k))
                    | rescore(5 * tanh(score / 5) - param(slopes)[head] * abs(q_idx - kv_idx) / 50)
                    | rescore(score + param(bias)(head, kv_idx)) | causal | softmax | weighted_sum;
    check(spec, of, of.d.rows, 1e-5, slopes, bias, factors);
}

TEST_CASE("gradients by the matrix unit leave out what is not visible and not finite", "[driver]") {
    auto const bad = bfloat16(std::numeric_limits<float>::quiet_NaN());
    problem of({140, 170, 32, 16});
    auto const check_finite = [&] {
        auto const got = on_unit<float>(threads(1), masked, of, of.d.rows, {});
        auto const expected = asked<double>(of, [&](auto const&... each) {
            reference::gradient(masked, of.q.rows, of.k.rows, of.v.rows, of.d.rows, each...);
        });
        auto const alike = [](auto const& a, auto const& b) {
            return std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(),
                              [](float x, double y) { return std::isfinite(x) == std::isfinite(y); });
        };
        CHECK(alike(std::get<0>(got), std::get<0>(expected)));
        CHECK(alike(std::get<1>(got), std::get<1>(expected)));
        CHECK(alike(std::get<2>(got), std::get<2>(expected)));
        return std::isfinite(std::get<0>(got)(0, 0, 139, 0));
    };
    for (index_t n : {48, 139, 150, 169}) of.k.rows(0, 0, n, 3) = of.v.rows(0, 0, n, 5) = bad;  // which none sees
    CHECK(check_finite());
    of.q.rows(0, 0, 0, 1) = of.d.rows(0, 0, 0, 2) = bad;  // a query that sees none
    CHECK(check_finite());
    of.k.rows(0, 0, 100, 3) = of.v.rows(0, 0, 120, 2) = of.d.rows(0, 0, 30, 2) = bad;
    CHECK_FALSE(check_finite());
}

TEST_CASE("the matrix unit computes gradients of queries over pages", "[driver]") {
    for (index_t slots : {32, 48}) {
        index_t const pages = 5;
        sizes const s{70, slots * pages, 64, 40, 2, 1};
        problem const of(s);
        pages_from_the_end<bfloat16> const in_pages(of.k.rows, of.v.rows, slots);
        tensor<float, 4> got(of.q.rows.extents), expected(of.q.rows.extents);
        workspace scratch;
        gradient_on<with_matrix_unit>(serial, scratch, masked, of.q.rows, paged(in_pages.keys, in_pages.table),
                                      paged(in_pages.values, in_pages.table), of.d.rows, grad(of.q.rows, got));
        gradient_on<with_matrix_unit>(serial, scratch, masked, of.q.rows, of.k.rows, of.v.rows, of.d.rows,
                                      grad(of.q.rows, expected));
        CHECK(same_bits(got, expected));
    }
}
