// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives against differences of values; what is known of them without values; kinks.
#include <fovea/expr/differentiate.hpp>
#include <fovea/expr/evaluate.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <cmath>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// Names with values: the score and a second number that depends on it no more than positions do.
struct values {
    double at = 0, beside = 0;
    double operator()(score_t) const { return at; }
    double operator()(weight_t) const { return beside; }
    template <fixed_string Name>
    index_t operator()(placeholder<Name>) const {
        return 3;
    }
    template <class T, class... Index>
    T lookup(view<T const, 1> const& table, Index... index) const {
        return table(index...);
    }
};

/// The derivative of e is the limit of its differences, at numbers between first and last that are not its kinks.
template <class E>
void check(E const& e, double first, double last, std::vector<double> const& kinks = {}) {
    testing::dice random(7);
    auto const by_rule = derivative(e, score);
    CAPTURE(print(e), print(by_rule));
    for (int trial = 0; trial < 40; ++trial) {
        double const x = random.real(first, last), beside = random.real(0.5, 2), h = 1e-4 * std::max(1.0, std::abs(x));
        if (std::any_of(kinks.begin(), kinks.end(), [&](double kink) { return std::abs(x - kink) < 2 * h; })) continue;
        auto const at = [&](double step) { return static_cast<double>(evaluate(e, values{x + step, beside})); };
        // Richardson's extrapolation of central differences: an error of h^4.
        double const differences = (8 * (at(h / 2) - at(-h / 2)) - (at(h) - at(-h))) / (6 * (h / 2) * 2);
        CHECK(static_cast<double>(evaluate(by_rule, values{x, beside}))
              == Approx(differences).epsilon(1e-6).margin(1e-8));
    }
}

}  // namespace

TEST_CASE("derivatives of operators are limits of differences", "[expr]") {
    check(score + 2 * score - weight, -3, 3);
    check(weight - score * score * weight, -3, 3);
    check(score / weight + weight / (score + 5) - 1 / (2 + square(score)), -3, 3);
    check(-(score * q_idx) / q_len + real(q_idx), -3, 3);
    check(square(score - weight) * score, -3, 3);
}

TEST_CASE("derivatives of functions are limits of differences", "[expr]") {
    check(exp(2 * score), -2, 2);
    check(exp2(2 * score), -2, 2);
    check(expm1(score / 3), -2, 2);
    check(log(3 * score), 0.1, 4);
    check(log2(score + 1), 0.1, 4);
    check(log10(score), 0.1, 4);
    check(log1p(score), 0.1, 4);
    check(50 * tanh(score / 50), -100, 100);
    check(erf(score) + erfc(2 * score), -2, 2);
    check(sqrt(score) + rsqrt(score) + cbrt(score), 0.2, 5);
    check(sigmoid(score) + silu(score) + gelu(score), -4, 4);
    check(sin(2 * score) + cos(score) + tan(score / 4), -3, 3);
    check(asin(score) + acos(score / 2) + atan(score), -0.9, 0.9);
    check(sinh(score) + cosh(score) + asinh(score), -2, 2);
    check(acosh(score), 1.2, 4);
    check(atanh(score), -0.8, 0.8);
    check(atan2(score, weight) + atan2(weight, score) + hypot(score, weight), 0.2, 3);
    check(pow(score, 3) + pow(score, weight) + pow(weight, score) + pow(score, -0.5f), 0.2, 3);
}

TEST_CASE("derivatives of functions with kinks are limits of differences beside them", "[expr]") {
    check(abs(score), -1, 1, {0});
    check(relu(score) * score + relu(2 * score), -1, 1, {0});
    check(leaky_relu(score, 0.2f), -1, 1, {0});
    check(leaky_relu(weight - 1, score) + leaky_relu(score, weight), -1, 1, {0});
    check(elu(score), -1, 1, {0});
    check(max(score, square(score)) + min(score, 0.5f), -1, 2, {0, 0.5, 1});
    check(select(score < 0.25f, square(score), 3 * score), -1, 1, {0.25});
}

TEST_CASE("at a kink the derivative is the field's", "[expr]") {
    auto const at_0 = [](auto const& e) { return static_cast<double>(evaluate(derivative(e, score), values{0, 1})); };
    CHECK(at_0(relu(score)) == 0);
    CHECK(at_0(sqrt(score)) == 0);
    CHECK(at_0(abs(score)) == 0);
    CHECK(at_0(max(2 * score, 3 * score)) == 2);
    CHECK(at_0(min(2 * score, 3 * score)) == 2);
    CHECK(at_0(leaky_relu(score, 0.25f)) == 0.25);
    CHECK(at_0(elu(score)) == 1);
    CHECK(at_0(pow(score, 1)) == 1);
    CHECK(at_0(pow(score, 0)) == 0);
}

TEST_CASE("what is 0 or 1 everywhere is not computed", "[expr]") {
    CHECK(print(derivative(score, score)) == "1");
    CHECK(print(derivative(score - 0.5f * (q_idx - kv_idx), score)) == "1");
    CHECK(print(derivative(tanh(weight) * q_idx, score)) == "0");
    CHECK(print(derivative(select(score < 1, kv_idx, q_idx), score)) == "0");
    CHECK(print(derivative(0.5f * score, score)) == "0.5");
    CHECK(print(derivative(50 * tanh(score / 50), score)) == "1 / real(50) * (1 - square(tanh(score / 50))) * 50");
    CHECK(print(derivative(select(kv_idx < q_idx, score, 0), score)) == "select(kv_idx < q_idx, 1, 0)");
}

TEST_CASE("tables do not change with the name, what they are read into does", "[expr]") {
    std::vector<float> const slopes{1, 2, 4, 8};
    CHECK(print(derivative(score + param(slopes)[head] * (q_idx - kv_idx), score)) == "1");
    check(score * param(slopes)[head], -1, 1);
    CHECK(print(derivative(score * param(slopes)[head], score)) == "param[head]");
}

TEST_CASE("inside a sum the derivative is that of one feature", "[expr]") {
    std::vector<float> const v{1, 2};
    CHECK(print(derivative(q * k, q)) == "k");
    CHECK(print(derivative(param(v) * tanh(q + k), k)) == "(1 - square(tanh(q + k))) * param");
    CHECK(print(derivative(square(sum(q * k)), q)) == "k * (2 * sum(q * k))");
    CHECK(print(derivative(-square(q - k), q)) == "-(2 * (q - k))");
    CHECK(print(derivative(-square(q - k), k)) == "-(-1 * (2 * (q - k)))");
}
