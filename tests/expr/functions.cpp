// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of the language against those of the standard library, of numbers and of intervals.
#include <fovea/expr/bound.hpp>
#include <fovea/expr/functions.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <cmath>
#include <limits>
#include <tuple>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

using of_one = std::tuple<elementary::sin, elementary::cos, elementary::tan, elementary::asin, elementary::acos,
                          elementary::atan, elementary::sinh, elementary::cosh, elementary::asinh, elementary::acosh,
                          elementary::atanh, elementary::exp2, elementary::expm1, elementary::log2, elementary::log10,
                          elementary::log1p, elementary::cbrt, elementary::erfc>;
using of_two = std::tuple<elementary::atan2, elementary::hypot, elementary::pow>;

interval<double> around(double a, double b) { return {std::min(a, b), std::max(a, b)}; }
double between(interval<double> x, double share) { return std::min(x.hi, x.lo + (x.hi - x.lo) * share); }

/// Whether an interval says the truth of a value; one that is no number asks for everything.
bool holds(interval<double> said, double value) {
    if (std::isnan(value)) return said == interval<double>::everything();
    double const slack = std::isinf(value) ? 0 : 1e-13 * (1 + std::abs(value));
    return said.lo - slack <= value && value <= said.hi + slack;
}

/// Ends of all sizes, of both signs.
double end(testing::dice& random) {
    if (random.chance(0.1)) return static_cast<double>(random.between(-2, 2));
    if (random.chance(0.05)) return random.chance(0.5) ? 1e300 : -std::numeric_limits<double>::infinity();
    return random.real(-1, 1) * std::exp2(static_cast<double>(random.between(-8, 6)));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("functions of one number", "[expr]", of_one) {
    testing::dice random(5);
    for (float const x : {-0.5f, 0.75f, 2.5f})
        if (auto const exact = TestType::of(static_cast<double>(x)); !std::isnan(exact))
            CHECK(scalar::value_of(TestType{}, x) == Approx(exact).epsilon(1e-6));
    STATIC_REQUIRE(std::is_same_v<decltype(scalar::value_of(TestType{}, 1.0f)), float>);
    STATIC_REQUIRE(std::is_same_v<decltype(scalar::value_of(TestType{}, index_t{1})), double>);
    for (int trial = 0; trial < 3000; ++trial) {
        auto const x = around(end(random), end(random));
        auto const said = value_of(TestType{}, x);
        for (double const share : {0.0, 0.3, 0.5, 0.9, 1.0})
            if (double const at = between(x, share); !std::isnan(at) && x.lo <= at && at <= x.hi)
                if (!holds(said, TestType::of(at)))
                    FAIL_CHECK(TestType::name << " of " << at << " is not in " << said.lo << ", " << said.hi);
    }
}

TEMPLATE_LIST_TEST_CASE("functions of two numbers", "[expr]", of_two) {
    testing::dice random(6);
    STATIC_REQUIRE(std::is_same_v<decltype(scalar::value_of(TestType{}, 1.0f, index_t{2})), float>);
    for (int trial = 0; trial < 3000; ++trial) {
        auto const x = around(end(random), end(random)), y = around(end(random), end(random));
        auto const said = value_of(TestType{}, x, y);
        for (double const first : {0.0, 0.3, 1.0})
            for (double const second : {0.0, 0.6, 1.0}) {
                double const a = between(x, first), b = between(y, second);
                if (std::isnan(a) || std::isnan(b)) continue;
                if (!holds(said, TestType::of(a, b)))
                    FAIL_CHECK(TestType::name << " of " << a << ", " << b << " is not in " << said.lo << ", "
                                              << said.hi);
            }
    }
}

TEST_CASE("functions are written and printed by their names", "[expr]") {
    CHECK(print(sin(score) + cos(score) * tan(score)) == "sin(score) + cos(score) * tan(score)");
    CHECK(print(asin(score) + acos(score) + atan(score)) == "asin(score) + acos(score) + atan(score)");
    CHECK(print(sinh(score) + cosh(score)) == "sinh(score) + cosh(score)");
    CHECK(print(asinh(score) + acosh(score) + atanh(score)) == "asinh(score) + acosh(score) + atanh(score)");
    CHECK(print(exp2(score) + expm1(score)) == "exp2(score) + expm1(score)");
    CHECK(print(log2(score) + log10(score) + log1p(score)) == "log2(score) + log10(score) + log1p(score)");
    CHECK(print(cbrt(score) + erfc(score)) == "cbrt(score) + erfc(score)");
    CHECK(print(pow(score, 2) + pow(2.5f, q_idx)) == "pow(score, 2) + pow(2.5, q_idx)");
    CHECK(print(atan2(q_idx, 3) + hypot(score, q_idx)) == "atan2(q_idx, 3) + hypot(score, q_idx)");
    CHECK(print(real(q_idx) / kv_len) == "real(q_idx) / kv_len");
    CHECK(print(floor_div(q_idx, 16)) == "floor_div(q_idx, 16)");
}

TEST_CASE("real and floor_div say which quotient is meant", "[expr]") {
    box const where{.q_idx = {3, 9}, .kv_idx = {0, 1}, .q_len = 10, .kv_len = 4};
    CHECK(bound(real(q_idx) / kv_len, where) == interval<double>{0.75, 2.25});
    CHECK(bound(floor_div(q_idx, kv_len), where) == interval<index_t>{0, 2});
    CHECK(operations::floor_div::apply(-7, 2) == -4);
    CHECK(operations::real::apply(-7) == -7.0);
    STATIC_REQUIRE(std::is_same_v<decltype(operations::real::apply(index_t{1})), double>);
    STATIC_REQUIRE(std::is_same_v<decltype(operations::real::apply(1.0f)), float>);
}
