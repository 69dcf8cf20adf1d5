// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/expr/functions.hpp>
#include <fovea/reference/environment.hpp>

#include "catch.hpp"

#include <cmath>
#include <random>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// Query 5, key 3, head 1, batch 2, of 8 queries and 9 keys; two features.
double const q_features[] = {2, -3}, k_features[] = {0.5, 4};
reference::pair_environment<double> const here{{{}, 2, 1, 5, 3, 8, 9, 2}, q_features, k_features};

struct number_of_out {
    double x;
    double operator()(out_t) const { return x; }
};

}  // namespace

TEST_CASE("names have the meaning that the environment gives them", "[expr]") {
    CHECK(evaluate(q_idx, here) == 5);
    CHECK(evaluate(kv_idx, here) == 3);
    CHECK(evaluate(head, here) == 1);
    CHECK(evaluate(batch, here) == 2);
    CHECK(evaluate(q_len, here) == 8);
    CHECK(evaluate(kv_len, here) == 9);
    CHECK(evaluate(dim, here) == 2);
}

TEST_CASE("sums run over the features", "[expr]") {
    CHECK(evaluate(sum(q * k), here) == 2 * 0.5 - 3 * 4);
    CHECK(evaluate(sum(square(q - k)), here) == 1.5 * 1.5 + 49);
    CHECK(evaluate(sum(k), here) == 4.5);
    std::vector<float> const v{10, 100};
    CHECK(evaluate(sum(param(v) * q), here) == 20 - 300);
    CHECK(evaluate(sum(q) * sum(k) + q_idx, here) == -1 * 4.5 + 5);
}

TEST_CASE("integers divide like positions, reals like reals", "[expr]") {
    CHECK(evaluate((kv_idx - q_idx) / 4, here) == -1);
    CHECK(evaluate((kv_idx - q_idx) % 4, here) == 2);
    CHECK(evaluate(q_idx / 2, here) == 2);
    CHECK(evaluate(q_idx / 2.0, here) == 2.5);
    STATIC_REQUIRE(std::is_same_v<decltype(evaluate(q_idx * 2 + 1, here)), index_t>);
}

TEST_CASE("a plus before an expression changes nothing", "[expr]") {
    auto const same = [](auto const& e) {
        STATIC_REQUIRE(std::is_same_v<decltype(+e), std::remove_cvref_t<decltype(e)>>);
        CHECK(evaluate(+e, here) == evaluate(e, here));
    };
    std::vector<float> const table{1, 2};
    same(q_idx);
    same(-kv_idx);
    same(param(table)[head]);
    same(sum(q * k) - 0.5);
}

TEST_CASE("conditions follow logic and do not look further than they must", "[expr]") {
    std::vector<int> const table{1, 2};
    auto const t = param(table);
    CHECK(evaluate(q_idx > kv_idx && head == 1, here));
    CHECK(evaluate(!(q_idx != 5) || batch == 0, here));
    CHECK_FALSE(evaluate(kv_idx < 2 && t[kv_idx] == 1, here));  // t has no element 3
    CHECK(evaluate(kv_idx >= 2 || t[kv_idx] == 1, here));
    CHECK(evaluate(select(kv_idx < 2, t[kv_idx], -1), here) == -1);
    CHECK_THROWS_AS(evaluate(t[kv_idx] == 1, here), shape_error);
}

TEST_CASE("functions are those of mathematics", "[expr]") {
    for (double x = -3; x <= 3; x += 0.37) {
        number_of_out const at{x};
        CHECK(evaluate(exp(out), at) == std::exp(x));
        CHECK(evaluate(tanh(out), at) == std::tanh(x));
        CHECK(evaluate(sigmoid(out), at) == Approx(1 / (1 + std::exp(-x))));
        CHECK(evaluate(relu(out), at) == (x > 0 ? x : 0));
        CHECK(evaluate(leaky_relu(out, 0.25), at) == (x > 0 ? x : 0.25 * x));
        CHECK(evaluate(elu(out), at) == Approx(x > 0 ? x : std::expm1(x)));
        CHECK(evaluate(abs(out), at) == std::abs(x));
        CHECK(evaluate(square(out), at) == x * x);
        CHECK(evaluate(min(out, 1), at) == std::min(x, 1.0));
        CHECK(evaluate(max(0.5, out), at) == std::max(0.5, x));
        CHECK(evaluate(log(exp(out)), at) == Approx(x));
        CHECK(evaluate(sqrt(square(out)) * rsqrt(square(out)), at) == Approx(1));
        CHECK(evaluate(-out, at) == -x);
    }
}
