// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/interval_functions.hpp>

#include "catch.hpp"

#include <random>

using namespace fovea;

namespace {

std::mt19937 engine(3);

index_t whole(index_t low, index_t high) { return std::uniform_int_distribution<index_t>(low, high)(engine); }
double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine); }

template <class T>
interval<T> around(T a, T b) {
    return {std::min(a, b), std::max(a, b)};
}

/// For random intervals and random values in them, what f gives lies in what it gives for the intervals.
template <class Draw, class F>
void check_sound(Draw draw, F f) {
    for (int trial = 0; trial < 2000; ++trial) {
        auto const a = draw(), b = draw(), c = draw(), d = draw();
        auto const x = around(a, b), y = around(c, d);
        auto const result = f(x, y);
        for (auto const p : {a, b})
            for (auto const q : {c, d}) {
                auto const value = f(interval(p), interval(q));
                CHECK((result.lo <= value.lo && value.hi <= result.hi));
            }
    }
}

auto const small = [] { return whole(-9, 9); };
auto const number = [] { return real(-4, 4); };

}  // namespace

TEST_CASE("interval arithmetic holds every value, in integers", "[core]") {
    check_sound(small, [](auto x, auto y) { return x + y; });
    check_sound(small, [](auto x, auto y) { return x - y; });
    check_sound(small, [](auto x, auto y) { return x * y; });
    check_sound(small, [](auto x, auto y) { return min(x, y); });
    check_sound(small, [](auto x, auto y) { return max(x, y); });
    check_sound(small, [](auto x, auto) { return abs(x); });
    check_sound(small, [](auto x, auto) { return square(x); });
    check_sound(small, [](auto x, auto) { return -x; });
}

TEST_CASE("interval arithmetic holds every value, in reals", "[core]") {
    check_sound(number, [](auto x, auto y) { return x + y; });
    check_sound(number, [](auto x, auto y) { return x - y; });
    check_sound(number, [](auto x, auto y) { return x * y; });
    check_sound(number, [](auto x, auto y) { return x / y; });
    check_sound(number, [](auto x, auto) { return exp(x); });
    check_sound(number, [](auto x, auto) { return log(abs(x)); });
    check_sound(number, [](auto x, auto) { return sqrt(abs(x)); });
    check_sound(number, [](auto x, auto) { return tanh(x); });
    check_sound(number, [](auto x, auto) { return square(x); });
}

TEST_CASE("integer quotients and remainders hold every value inside", "[core]") {
    for (int trial = 0; trial < 2000; ++trial) {
        auto const x = around(whole(-30, 30), whole(-30, 30));
        auto const divisor = whole(1, 7);
        auto const quotient = x / divisor, remainder = x % divisor;
        for (auto value = x.lo; value <= x.hi; ++value) {
            CHECK(quotient.contains(floor_divide(value, divisor)));
            CHECK(remainder.contains(floor_modulo(value, divisor)));
        }
    }
    CHECK(interval<index_t>(3, 5) / interval<index_t>(-1, 1) == interval<index_t>::everything());
}

TEST_CASE("comparisons are settled exactly where all pairs of values agree", "[core]") {
    for (int trial = 0; trial < 2000; ++trial) {
        auto const x = around(small(), small()), y = around(small(), small());
        truth less{false, false}, equal{false, false};
        for (auto a = x.lo; a <= x.hi; ++a)
            for (auto b = y.lo; b <= y.hi; ++b) {
                (a < b ? less.may_hold : less.may_fail) = true;
                (a == b ? equal.may_hold : equal.may_fail) = true;
            }
        CHECK((x < y) == less);
        CHECK((x >= y) == !less);
        CHECK((y > x) == less);
        CHECK(may_equal(x, y) == equal);
    }
}

TEST_CASE("truths follow logic", "[core]") {
    truth const truths[] = {truth(true), truth(false), truth{}};
    for (auto const a : truths) {
        for (bool const b : {false, true}) {
            CHECK((a && b) == (a && truth(b)));
            CHECK((a || b) == (a || truth(b)));
        }
        CHECK((a && truth(true)) == a);
        CHECK((a || truth(false)) == a);
        CHECK((a && truth(false)) == truth(false));
        CHECK((a || truth(true)) == truth(true));
        for (auto const b : truths) {
            CHECK((!(a && b)) == (!a || !b));
            CHECK((a && b) == (b && a));
        }
    }
}

TEST_CASE("what may be anything stays within its ends", "[core]") {
    auto const any = interval<index_t>::everything();
    for (auto const grown : {any + index_t{1}, any - index_t{1}, -any, abs(any), any / index_t{-1}, any + any,
                             any - any, any * any, square(any), any * index_t{1000}, -any + any}) {
        CHECK(grown.lo <= any.hi);
        CHECK((grown.lo <= 5 && 5 <= grown.hi));
    }
    auto const infinite = interval<double>(std::numeric_limits<double>::infinity());
    CHECK(infinite - infinite == interval<double>::everything());
    CHECK(log(interval<double>(-2, -1)) == interval<double>::everything());
    CHECK(sqrt(interval<double>(-2, 4)) == interval<double>::everything());
}

TEST_CASE("select keeps both values until its condition is settled", "[core]") {
    interval<index_t> const a{0, 1}, b{5, 6};
    CHECK(select(truth(true), a, b) == a);
    CHECK(select(truth(false), a, b) == b);
    CHECK(select(truth{}, a, b) == interval<index_t>{0, 6});
}
