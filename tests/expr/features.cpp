// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges of features, and what a sum runs over; what they compute is held against the definition in tests/driver.
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <array>
#include <cmath>
#include <stdexcept>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// Six queries, seven keys, five features.
struct call {
    testing::dice random{5};
    tensor<double, 2> query = testing::random_tensor<double>(random, std::array<index_t, 2>{6, 5});
    tensor<double, 2> key = testing::random_tensor<double>(random, std::array<index_t, 2>{7, 5});
    tensor<double, 2> value = testing::random_tensor<double>(random, std::array<index_t, 2>{7, 2});
    tensor<double, 2> place = testing::random_tensor<double>(random, std::array<index_t, 2>{7, 3});
    tensor<double, 2> result{{6, 2}, 7};

    /// The scores by the definition: (query, key).
    template <class E>
    tensor<double, 2> scores_of(E const& e) const {
        tensor<double, 2> all({6, 7}), out({6, 2});
        reference::attend(compare(e) | softmax | weighted_sum, query, key, value, out, scores(all));
        return all;
    }
    template <class E>
    void refused(E const& e, char const* sentence) {
        CHECK_THROWS_WITH(attend(compare(e) | softmax | weighted_sum, query, key, value, result), sentence);
        CHECK_THROWS_AS(reference::attend(compare(e) | softmax | weighted_sum, query, key, value, result), shape_error);
        for (double const x : result) CHECK(x == 7);
    }
};

template <class A, class B>
void check_equal(A const& a, B const& b) {
    for (std::size_t i = 0; i < a.elements.size(); ++i)
        CHECK(a.elements[i] == Approx(b.elements[i]).epsilon(1e-12).margin(1e-12));
}

}  // namespace

TEST_CASE("a sum over all features is the sum of those over its parts", "[expr]") {
    call const c;
    auto const whole = c.scores_of(sum(q * k));
    for (index_t cut = 1; cut < 5; ++cut)
        check_equal(c.scores_of(sum(q * k, features(0, cut)) + sum(q * k, features(cut, 5))), whole);
    check_equal(c.scores_of(sum(q * k, features(0, 5))), whole);
}

TEST_CASE("a sum over a range is that of its features one by one", "[expr]") {
    call const c;
    auto const all = c.scores_of(sum(abs(q - k), features(1, 4)));
    for (index_t i = 0; i < 6; ++i)
        for (index_t j = 0; j < 7; ++j) {
            double expected = 0;
            for (index_t f = 1; f < 4; ++f) expected += std::abs(c.query(i, f) - c.key(j, f));
            CHECK(all(i, j) == Approx(expected));
        }
}

TEST_CASE("a table has its first element at the first feature of a range", "[expr]") {
    call const c;
    auto const place = param(c.place);
    auto const all = c.scores_of(sum(place[q_idx] * k, features(2, 5)));
    for (index_t i = 0; i < 6; ++i)
        for (index_t j = 0; j < 7; ++j)
            CHECK(all(i, j)
                  == Approx(c.place(i, 0) * c.key(j, 2) + c.place(i, 1) * c.key(j, 3) + c.place(i, 2) * c.key(j, 4)));
}

TEST_CASE("a sum without q and k runs over the elements of its tables", "[expr]") {
    call const c;
    auto const place = param(c.place);
    auto const component = [&](index_t axis) { return square(place(q_idx, axis) - place(kv_idx, axis)); };
    check_equal(c.scores_of(sum(square(place[q_idx] - place[kv_idx]))),
                c.scores_of(component(0) + component(1) + component(2)));
}

TEST_CASE("a range prints as it is written", "[expr]") {
    CHECK(print(sum(q * k, features(0, 64)) * 0.5) == "sum(q * k, features(0, 64)) * 0.5");
}

TEST_CASE("a range that is empty or begins below 0 is refused where it is made", "[expr]") {
    CHECK_THROWS_AS(features(3, 3), std::invalid_argument);
    CHECK_THROWS_WITH(features(3, 3), "features: the end of the range is 3, it must be above its first feature");
    CHECK_THROWS_WITH(features(5, 2), "features: the end of the range is 2, it must be above its first feature");
    CHECK_THROWS_WITH(features(-1, 2), "features: the first feature is -1, it must be 0 or more");
}

TEST_CASE("a range beyond the features is refused before anything is written", "[expr]") {
    call c;
    c.refused(sum(q * k, features(3, 6)), "sum(q * k, features(3, 6)) needs 6 features, query has 5");
    c.refused(sum(q * k) + sum(square(k), features(5, 6)),
              "sum(square(k), features(5, 6)) needs 6 features, key has 5");
    c.refused(sum(param(c.place)[kv_idx] * q, features(0, 2)),
              "a table read feature by feature has 3 elements, the range of its sum has 2 features");
    c.refused(sum(param(c.place)[q_idx] * param(c.value)[kv_idx]),
              "a table read feature by feature has 2 elements, another of its sum has 3 features");
    c.refused(sum(param(c.place)[q_idx] * k), "a table read feature by feature has 3 elements, key has 5 features");
}

TEST_CASE("each sum over a range is a part of its own, and a product costs its own features", "[expr]") {
    call const c;
    auto const text = [&](auto const& e) {
        return explain(compare(e) | softmax | weighted_sum, c.query, c.key, c.value);
    };
    using Catch::Matchers::ContainsSubstring;
    CHECK_THAT(text(sum(q * k, features(0, 2)) + sum(q * k, features(2, 5))), ContainsSubstring("2 matrix products ("));
    CHECK_THAT(text(-sum(square(q - k), features(0, 2))), ContainsSubstring("1 matrix product ("));
    CHECK_THAT(text(sum(q * param(c.place)[kv_idx], features(0, 3))), ContainsSubstring("1 matrix product ("));
    CHECK_THAT(text(-sum(square(param(c.place)[q_idx] - param(c.place)[kv_idx]))),
               ContainsSubstring("1 sum for each pair ("));
    auto const parts =
        plan::lower(sum(q * k, features(2, 5)) + sum(square(param(c.place)[q_idx] - k), features(1, 4))).parts;
    auto const counted = plan::features_of_parts(parts, 5, 5);
    CHECK(counted.product.first == 2);
    CHECK(counted.product.count == 3);
    CHECK(counted.most == 5);
    tensor<double, 2> const wide({7, 9});
    CHECK(plan::features_of_parts(plan::lower(sum(abs(param(wide)[q_idx] - param(wide)[kv_idx]))).parts, 5, 5).most
          == 9);
}
