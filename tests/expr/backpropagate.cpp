// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cotangents of the leaves of an expression, by hand; leaves without gradients; numbers that know their derivative.
#include <fovea/expr/backpropagate.hpp>
#include <fovea/expr/functions.hpp>
#include <fovea/reference/environment.hpp>
#include <fovea/spec/row_gradient.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// The score, and everything else 2.
struct values {
    using arithmetic = arithmetic_in<double>;
    double at = 0;
    double operator()(score_t) const { return at; }
    template <fixed_string Name>
    index_t operator()(placeholder<Name>) const {
        return 2;
    }
    template <class T, class... Index>
    T lookup(view<T const, 1> const& table, Index... index) const {
        return table(index...);
    }
};

/// The cotangents that have been handed on.
struct received {
    double& score;
    std::map<void const*, double>& elements;
    template <class At>
    void name(At const&, double amount, score_t) const {
        score += amount;
    }
    template <class At, class T>
    void table(At const&, double amount, view<T const, 1> const& read, index_t i) const {
        elements[&read(i)] += amount;
    }
};

struct handed_on {
    double score = 0;
    std::map<void const*, double> elements;

    template <class E>
    handed_on(E const& e, double at, double amount) {
        backpropagate(e, values{at}, amount, received{score, elements});
    }
};

}  // namespace

TEST_CASE("leaves that are read twice get both amounts", "[expr]") {
    handed_on const got(score * score + 3 * score, 5, 2);
    CHECK(got.score == 2 * (2 * 5 + 3));
}

TEST_CASE("tables of one type are told apart by their memory", "[expr]") {
    std::vector<double> const a{1, 2, 3}, b{4, 5, 6};
    handed_on const got(score * param(a)[head] + param(b)[head - 1] * param(a)[head], 7, 1);
    CHECK(got.score == 3);
    CHECK(got.elements == std::map<void const*, double>{{&a[2], 7 + 5}, {&b[1], 3}});
}

TEST_CASE("integers, conditions and indices have no gradient", "[expr]") {
    std::vector<int> const ids{1, 2, 3};
    STATIC_REQUIRE(!has_gradient<decltype(param(ids)[head] + q_idx * kv_idx)>);
    STATIC_REQUIRE(!has_gradient<decltype(score < 1.0)>);
    STATIC_REQUIRE(!has_gradient<decltype(random(1))>);
    STATIC_REQUIRE(has_gradient<decltype(select(score < 1.0, score, 0))>);
    handed_on const got(score * param(ids)[head], 7, 1);
    CHECK(got.score == 3);
    CHECK(got.elements.empty());
}

TEST_CASE("a branch that is not taken adds nothing, whatever its derivative", "[expr]") {
    handed_on const got(select(score > 0, sqrt(score), 2 * score), 0, 1);
    CHECK(got.score == 2);  // the derivative of sqrt is infinite
    handed_on const none(1 / score, 0, 0);
    CHECK(none.score == 0);
}

TEST_CASE("numbers that know their derivative follow its rules", "[expr]") {
    auto const check = [](auto const& function, auto const& e, double first, double last) {
        testing::dice from(3);
        for (int trial = 0; trial < 40; ++trial) {
            double const x = from.real(first, last);
            auto const got = function(dual<double>(x, 1));
            CHECK(got.value == Approx(static_cast<double>(evaluate(e, values{x}))).margin(1e-14));
            CHECK(got.slope == Approx(static_cast<double>(evaluate(derivative(e, score), values{x}))).margin(1e-14));
        }
    };
    using number = dual<double> const&;
    check([](number x) { return exp(x) / (1 + x * x) - 2; }, exp(score) / (1 + score * score) - 2, -2, 2);
    check([](number x) { return max(x, 0.) + min(x, 0.5) + abs(x); }, max(score, 0.) + min(score, 0.5) + abs(score), -2,
          2);
    check([](number x) { return log(x) * tanh(x) + sqrt(x) + erf(x); },
          log(score) * tanh(score) + sqrt(score) + erf(score), 0.2, 3);
    check([](number x) { return pow(x, 1.5) + pow(2., x) + square(x) + fma(x, x, 1.); },
          pow(score, 1.5) + pow(literal<double>{2}, score) + 2 * square(score) + 1, 0.2, 3);
    check([](number x) { return sin(x) + cos(x) * tan(x) + atan(x) + asin(x) + acos(x); },
          sin(score) + cos(score) * tan(score) + atan(score) + asin(score) + acos(score), -0.9, 0.9);
    check([](number x) { return sinh(x) + cosh(x) + asinh(x) + acosh(x + 2) + atanh(x / 3); },
          sinh(score) + cosh(score) + asinh(score) + acosh(score + 2) + atanh(score / 3), -0.9, 0.9);
    check([](number x) { return exp2(x) + expm1(x) + log2(x) + log10(x) + log1p(x) + cbrt(x) + erfc(x); },
          exp2(score) + expm1(score) + log2(score) + log10(score) + log1p(score) + cbrt(score) + erfc(score), 0.2, 2);
    check([](number x) { return x > 1 ? -x : select(x < 0.5, x, x * x); },
          select(score > 1, -score, select(score < 0.5, score, score * score)), 0, 2);
    auto x = dual<double>(3, 1);
    x += 1, x -= 2, x *= x, x /= 2;
    CHECK(x.value == 2);
    CHECK(x.slope == 2);
}
