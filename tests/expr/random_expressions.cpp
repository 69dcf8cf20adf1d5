// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Intervals against values, on expressions that nobody chose: the compiler draws them from a seed.
#include <fovea/expr/functions.hpp>
#include <fovea/expr/operators.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"
#include "support/drawn.hpp"

#include <utility>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

using drawn::next;
using drawn::pick;

template <unsigned Seed, int Depth>
constexpr auto condition();

/// A random integer expression.
template <unsigned Seed, int Depth>
constexpr auto integer() {
    constexpr unsigned which = pick(Seed, Depth > 0 ? 10 : 4);
    if constexpr (Depth <= 0) {
        if constexpr (which == 0) return q_idx;
        else if constexpr (which == 1) return kv_idx;
        else if constexpr (which == 2) return head;
        else return kv_idx - static_cast<int>(pick(next(Seed, 1), 20));
    } else {
        auto const a = integer<next(Seed, 2), Depth - 1>();
        auto const b = integer<next(Seed, 3), Depth - 2>();
        constexpr int n = 2 + static_cast<int>(pick(next(Seed, 4), 6));
        if constexpr (which < 2) return a + b;
        else if constexpr (which < 4) return a - b;
        else if constexpr (which == 4) return a * b % 97;
        else if constexpr (which == 5) return a / n;
        else if constexpr (which == 6) return min(a, b * n);
        else if constexpr (which == 7) return max(-a, b);
        else if constexpr (which == 8) return abs(a) % n;
        else return select(condition<next(Seed, 5), Depth - 2>(), a, b);
    }
}

/// A random real expression.
template <unsigned Seed, int Depth>
constexpr auto real() {
    auto const a = integer<next(Seed, 1), Depth>();
    auto const b = integer<next(Seed, 2), Depth - 1>();
    constexpr unsigned which = pick(Seed, 7);
    if constexpr (which == 0) return tanh(a / 8.0) * b;
    else if constexpr (which == 1) return exp(-abs(a) / 4.0) - 0.5 * b;
    else if constexpr (which == 2) return sigmoid(a / 3.0) + square(b / 7.0);
    else if constexpr (which == 3) return leaky_relu(0.25 * a, 0.2) - elu(b / 5.0);
    else if constexpr (which == 4) return sqrt(abs(a)) * log(1 + abs(b));
    else if constexpr (which == 5) return a / (1.5 + square(0.5 * b));
    else return select(condition<next(Seed, 3), Depth - 1>(), 0.5 * a, relu(b - 0.75));
}

/// A random condition.
template <unsigned Seed, int Depth>
constexpr auto condition() {
    constexpr unsigned which = pick(Seed, Depth > 0 ? 7 : 4);
    if constexpr (which < 4) {
        auto const a = integer<next(Seed, 1), Depth>();
        auto const b = integer<next(Seed, 2), Depth - 1>();
        if constexpr (which == 0) return a < b;
        else if constexpr (which == 1) return a <= b;
        else if constexpr (which == 2) return a == b;
        else return a != b;
    } else {
        auto const a = condition<next(Seed, 3), Depth - 1>();
        auto const b = condition<next(Seed, 4), Depth - 1>();
        if constexpr (which == 4) return a && b;
        else if constexpr (which == 5) return a || b;
        else return !a;
    }
}

testing::lengths const sizes{13, 15, 3, 2};

template <unsigned Seed>
void check_condition() {
    auto const c = condition<next(Seed, 77), 3>();
    INFO(print(c));
    CHECK_NOTHROW(testing::detail::check_condition_bounds(c, sizes, Seed));
}

template <unsigned Seed>
void check_real() {
    auto const e = real<next(Seed, 99), 3>();
    INFO(print(e));
    testing::dice random(Seed);
    bool sound = true;
    for (int trial = 0; trial < 20; ++trial) {
        auto const where = testing::detail::random_box(random, sizes);
        interval<double> const said = bound(e, where);
        testing::detail::for_each_pair(where, [&](index_t b, index_t h, index_t i, index_t j) {
            auto const value = static_cast<double>(evaluate(e, testing::detail::pair_at(b, h, i, j, sizes)));
            double const slack = 1e-12 * (1 + std::abs(value));
            sound = sound && said.lo - slack <= value && value <= said.hi + slack;
        });
    }
    CHECK(sound);
}

}  // namespace

TEST_CASE("intervals hold the values of random expressions", "[expr]") {
    [&]<unsigned... Seed>(std::integer_sequence<unsigned, Seed...>) {
        (check_real<Seed>(), ...);
    }(std::make_integer_sequence<unsigned, 24>{});
}

TEST_CASE("intervals settle random conditions only where all pairs agree", "[expr]") {
    [&]<unsigned... Seed>(std::integer_sequence<unsigned, Seed...>) {
        (check_condition<Seed>(), ...);
    }(std::make_integer_sequence<unsigned, 24>{});
}

TEST_CASE("replacing a name by itself is nothing, and by a number fixes it", "[expr]") {
    [&]<unsigned... Seed>(std::integer_sequence<unsigned, Seed...>) {
        auto const check = [](auto const& e) {
            auto const fixed = substitute(e, kv_idx, literal<index_t>{7});
            auto const at = [](index_t j) { return testing::detail::pair_at(1, 2, 11, j, sizes); };
            CHECK(evaluate(fixed, at(3)) == evaluate(e, at(7)));
            CHECK(print(substitute(e, kv_idx, kv_idx)) == print(e));
        };
        (check(real<next(Seed, 5), 3>()), ...);
    }(std::make_integer_sequence<unsigned, 12>{});
}
