// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contracts that hold whatever the operands contain and wherever they lie.
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/guarded.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

struct call {
    index_t n = 75, m = 90;
    testing::dice random{29};
    tensor<float, 2> q = testing::random_tensor<float>(random, std::array<index_t, 2>{n, 10});
    tensor<float, 2> k = testing::random_tensor<float>(random, std::array<index_t, 2>{m, 10});
    tensor<float, 2> v = testing::random_tensor<float>(random, std::array<index_t, 2>{m, 7});
    tensor<float, 2> out{{n, 7}, not_a_number}, w{{n, m}, not_a_number};
    tensor<float, 1> sums{{n}, not_a_number};

    void poison(index_t key, float with) {
        for (index_t c = 0; c < 10; ++c) k(key, c) = with;
        for (index_t c = 0; c < 7; ++c) v(key, c) = with;
    }
    bool row_is(index_t i, float x) const {
        return std::all_of(&out(i, 0), &out(i, 0) + 7, [x](float y) { return y == x; });
    }
    bool row_is_finite(index_t i) const {
        return std::all_of(&out(i, 0), &out(i, 0) + 7, [](float y) { return std::isfinite(y); });
    }
    bool row_is_nan(index_t i) const {
        return std::all_of(&out(i, 0), &out(i, 0) + 7, [](float y) { return std::isnan(y); });
    }
};

/// Keys from the 60th on are masked for all queries but the last; they hold what would spread.
template <class Spec>
void check_masked_keys(Spec const& spec) {
    call clean, poisoned;
    for (index_t key = 60; key < poisoned.m; ++key) poisoned.poison(key, key % 2 ? not_a_number : inf);
    attend(spec, clean.q, clean.k, clean.v, clean.out);
    attend(spec, poisoned.q, poisoned.k, poisoned.v, poisoned.out);
    for (index_t i = 0; i + 1 < clean.n; ++i)
        for (index_t c = 0; c < 7; ++c)
            if (!(std::abs(clean.out(i, c) - poisoned.out(i, c)) <= 1e-5f))
                FAIL_CHECK("row " << i << " is " << poisoned.out(i, c) << ", not " << clean.out(i, c));
    CHECK_FALSE(poisoned.row_is_finite(clean.n - 1));
    attend(spec, poisoned.q, poisoned.k, poisoned.v, poisoned.out, weights(poisoned.w));
    for (index_t i = 0; i + 1 < clean.n; ++i) {
        CHECK(poisoned.row_is_finite(i));
        for (index_t j = 60; j < poisoned.m; ++j)
            if (!(poisoned.w(i, j) == 0)) FAIL_CHECK("weight " << i << ", " << j << " is " << poisoned.w(i, j));
    }
}

}  // namespace

TEST_CASE("a row without keys is 0, its weights are 0, its lse is -inf", "[driver]") {
    call c;
    auto const spec = scaled_dot | where(q_idx % 3 != 0) | where(q_idx < 40) | softmax | weighted_sum;
    attend(spec, c.q, c.k, c.v, c.out, lse(c.sums), weights(c.w));
    for (index_t i = 0; i < c.n; ++i) {
        bool const sees = i % 3 != 0 && i < 40;
        CHECK(c.row_is(i, 0) == !sees);
        CHECK((c.sums(i) == -inf) == !sees);
        float total = 0;
        for (index_t j = 0; j < c.m; ++j) total += c.w(i, j);
        CHECK(total == Approx(sees ? 1 : 0).margin(1e-5));
    }
    attend(spec, c.q, c.k, c.v, c.out, lse(c.sums));
    CHECK(c.row_is(0, 0));
    CHECK(c.row_is(74, 0));
    CHECK(c.sums(74) == -inf);
}

TEST_CASE("rows without keys are 0 for every normalizer", "[driver]") {
    call c;
    attend(scaled_dot | where(q_idx > 70) | hardmax | weighted_sum, c.q, c.k, c.v, c.out);
    CHECK(c.row_is(0, 0));
    CHECK_FALSE(c.row_is(71, 0));
    attend(scaled_dot | where(q_idx > 70) | unnormalized | weighted_sum, c.q, c.k, c.v, c.out);
    CHECK(c.row_is(0, 0));
    CHECK_FALSE(c.row_is(71, 0));
}

TEST_CASE("what keys hold that a bias of -inf excludes reaches no result", "[driver]") {
    call c, clean;
    tensor<float, 2> bias({c.n, c.m});
    for (index_t i = 0; i < c.n; ++i)
        for (index_t j = 60; j < c.m; ++j) bias(i, j) = -inf;
    for (index_t j = 60; j < c.m; ++j)
        for (index_t f = 0; f < 7; ++f) c.v(j, f) = j % 2 ? not_a_number : inf;
    auto const spec = scaled_dot | rescore(score + param(bias)(q_idx, kv_idx)) | softmax | weighted_sum;
    attend(spec, c.q, c.k, c.v, c.out);
    attend(spec, clean.q, clean.k, clean.v, clean.out);
    for (index_t i = 0; i < c.n; ++i)
        for (index_t f = 0; f < 7; ++f) CHECK(c.out(i, f) == Approx(clean.out(i, f)).margin(1e-6));
}

TEST_CASE("a NaN in a visible position propagates", "[driver]") {
    call c;
    c.k(50, 3) = not_a_number;
    attend(scaled_dot | causal | softmax | weighted_sum, c.q, c.k, c.v, c.out);
    for (index_t i = 0; i < c.n; ++i) {
        CAPTURE(i);
        CHECK(c.row_is_finite(i) == (i < 50));
        CHECK(c.row_is_nan(i) == (i >= 50));
    }
}

TEST_CASE("values that are not finite stay where they are seen", "[driver]") {
    call c;
    c.v(50, 3) = inf;
    c.v(60, 3) = -inf;
    c.v(61, 4) = not_a_number;
    attend(scaled_dot | causal | softmax | weighted_sum, c.q, c.k, c.v, c.out);
    for (index_t i = 0; i < c.n; ++i) {
        CAPTURE(i);
        if (i < 50) CHECK(c.row_is_finite(i));
        else if (i < 60) CHECK(c.out(i, 3) == inf);
        else CHECK(std::isnan(c.out(i, 3)));
        CHECK(std::isnan(c.out(i, 4)) == (i >= 61));
        CHECK(std::isfinite(c.out(i, 0)));
    }
}

TEST_CASE("scores beyond the range of exp are no overflow", "[driver]") {
    call c;
    for (auto& x : c.q) x *= 1e4f;
    attend(dot | softmax | weighted_sum, c.q, c.k, c.v, c.out, lse(c.sums));
    for (index_t i = 0; i < c.n; ++i) {
        CHECK(c.row_is_finite(i));
        CHECK(std::isfinite(c.sums(i)));
    }
}
