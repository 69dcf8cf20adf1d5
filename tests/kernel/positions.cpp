// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set
// Indices, one for each lane, against the same arithmetic on numbers.
#include <fovea/expr/function_operations.hpp>
#include <fovea/kernel/wide_pack.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"

#include <cstdint>
#include <limits>
#include <vector>

using namespace fovea;

namespace {

/// The value in one lane of whatever an operation gives.
template <class T, class Arch>
double lane(kernel::lane_mask<T, Arch> const& m, std::size_t i) {
    using pack = kernel::pack<T, Arch>;
    return static_cast<double>(kernel::lanes_of<T, Arch>::to_array(select(m, pack(T{1}), pack(T{0})))[i]);
}
template <class T, class Arch>
double lane(kernel::pack<T, Arch> const& a, std::size_t i) {
    return static_cast<double>(kernel::lanes_of<T, Arch>::to_array(a)[i]);
}
template <kernel::lane_indices I>
double lane(I const& a, std::size_t i) {
    return static_cast<double>(kernel::to_integers(a).array()[i]);
}

/// f on lane indices, lane by lane the same as f on numbers; x and y are packs of indices or numbers.
template <class T, class Arch, class X, class Y>
void check_arithmetic(X const& x, Y const& y, auto const& numbers_x, auto const& numbers_y) {
    auto const same = [&](char const* name, auto const& f) {
        auto const got = f(x, y);
        for (std::size_t i = 0; i < static_cast<std::size_t>(kernel::pack<T, Arch>::lanes); ++i)
            if (lane(got, i) != static_cast<double>(f(numbers_x(i), numbers_y(i))))
                FAIL_CHECK(name << " of " << numbers_x(i) << " and " << numbers_y(i) << " is " << lane(got, i));
    };
    same("+", [](auto const& a, auto const& b) { return a + b; });
    same("-", [](auto const& a, auto const& b) { return a - b; });
    same("*", [](auto const& a, auto const& b) { return a * b; });
    same("<", [](auto const& a, auto const& b) { return a < b; });
    same("<=", [](auto const& a, auto const& b) { return a <= b; });
    same(">", [](auto const& a, auto const& b) { return a > b; });
    same(">=", [](auto const& a, auto const& b) { return a >= b; });
    same("==", [](auto const& a, auto const& b) { return a == b; });
    same("min", [](auto const& a, auto const& b) { return operations::min::apply(a, b); });
    same("max", [](auto const& a, auto const& b) { return operations::max::apply(a, b); });
}

/// Division rounds down for indices, so plain numbers divide by floor_divide.
template <class T, class Arch, class X, class Y>
void check_division(X const& x, Y const& y, auto const& numbers_x, auto const& numbers_y) {
    auto const quotient = x / y;
    auto const rest = x % y;
    for (std::size_t i = 0; i < static_cast<std::size_t>(kernel::pack<T, Arch>::lanes); ++i) {
        CHECK(lane(quotient, i) == static_cast<double>(floor_divide(numbers_x(i), numbers_y(i))));
        CHECK(lane(rest, i) == static_cast<double>(floor_modulo(numbers_x(i), numbers_y(i))));
    }
}

/// Positions held between two numbers, and what is counted from them.
template <class T, class Arch>
void check_clamped(auto const& along, auto const& numbers, testing::dice& random) {
    using std::max, std::min;
    auto const clamped = [](auto const& x, index_t low, index_t high) { return min(max(x, low), high); };
    index_t const low = random.between(-50, 50), high = random.between(-50, 50), shift = random.between(-50, 50);
    auto const x = clamped(along, low, high);
    auto const moved = clamped(shift - x, low, high) + shift;
    static_assert(kernel::is_clamped_positions<std::remove_const_t<decltype(moved)>>);
    auto const numbers_x = [&](std::size_t i) { return clamped(numbers(i), low, high); };
    auto const numbers_moved = [&](std::size_t i) { return clamped(shift - numbers_x(i), low, high) + shift; };
    auto const numbers_shift = [&](std::size_t) { return shift; };
    check_arithmetic<T, Arch>(x, shift, numbers_x, numbers_shift);
    check_arithmetic<T, Arch>(shift, x, numbers_shift, numbers_x);
    check_arithmetic<T, Arch>(moved, x, numbers_moved, numbers_x);
    check_arithmetic<T, Arch>(along, moved, numbers, numbers_moved);
    check_arithmetic<T, Arch>(
        min(along, low), max(low, along), [&](std::size_t i) { return min(numbers(i), low); },
        [&](std::size_t i) { return max(numbers(i), low); });
    kernel::wide_pack<T, Arch> const exact(moved);
    for (std::size_t i = 0; i < exact.array().size(); ++i) {
        CHECK(exact.array()[i] == numbers_moved(i));
        CHECK(lane(moved.to_real(), i) == static_cast<double>(numbers_moved(i)));
        CHECK(lane(-x, i) == static_cast<double>(-numbers_x(i)));
        CHECK(lane(abs(x), i) == std::abs(static_cast<double>(numbers_x(i))));
        CHECK(lane(x * 0.5f, i) == 0.5 * static_cast<double>(numbers_x(i)));
        CHECK(lane(select(x < shift, x, moved), i)
              == static_cast<double>(numbers_x(i) < shift ? numbers_x(i) : numbers_moved(i)));
    }
}

template <class T, class Arch>
void check_all() {
    using positions = kernel::positions<T, Arch>;
    using indices = kernel::index_pack<T, Arch>;
    testing::dice random(5);
    for (int trial = 0; trial < 50; ++trial) {
        typename indices::array_type listed;
        for (auto& x : listed) x = static_cast<kernel::integer_like<T>>(random.between(-40, 40));
        auto const list = indices::load(listed.data());
        positions const up{random.between(-40, 40)};
        auto const down = random.between(-40, 40) - up;
        index_t const n = random.between(-40, 40), divisor = random.between(1, 9);

        auto const numbers_list = [&](std::size_t i) { return static_cast<index_t>(listed[i]); };
        auto const numbers_up = [&](std::size_t i) { return up.first + static_cast<index_t>(i); };
        auto const numbers_down = [&](std::size_t i) { return down.first - static_cast<index_t>(i); };
        auto const numbers_n = [&](std::size_t) { return n; };
        auto const numbers_divisor = [&](std::size_t) { return divisor; };

        check_arithmetic<T, Arch>(list, list, numbers_list, numbers_list);
        check_arithmetic<T, Arch>(list, indices(n), numbers_list, numbers_n);
        check_arithmetic<T, Arch>(up, n, numbers_up, numbers_n);
        check_arithmetic<T, Arch>(n, up, numbers_n, numbers_up);
        check_arithmetic<T, Arch>(down, n, numbers_down, numbers_n);
        check_arithmetic<T, Arch>(up, down, numbers_up, numbers_down);
        check_arithmetic<T, Arch>(up, list, numbers_up, numbers_list);
        check_clamped<T, Arch>(up, numbers_up, random);
        check_clamped<T, Arch>(down, numbers_down, random);
        check_division<T, Arch>(list, indices(divisor), numbers_list, numbers_divisor);
        check_division<T, Arch>(up, divisor, numbers_up, numbers_divisor);
        check_division<T, Arch>(down, divisor, numbers_down, numbers_divisor);
        for (std::size_t i = 0; i < listed.size(); ++i) {
            CHECK(lane(abs(list), i) == std::abs(static_cast<double>(listed[i])));
            CHECK(lane(square(up), i) == static_cast<double>(numbers_up(i) * numbers_up(i)));
            CHECK(lane(-up, i) == static_cast<double>(-numbers_up(i)));
            CHECK(lane(up.to_real(), i) == static_cast<double>(numbers_up(i)));
            CHECK(lane(down.to_real(), i) == static_cast<double>(numbers_down(i)));
            CHECK(lane(list.to_real(), i) == static_cast<double>(listed[i]));
            CHECK(lane(select(up < n, up, list), i)
                  == static_cast<double>(numbers_up(i) < n ? numbers_up(i) : listed[i]));
            CHECK(lane(up * 0.5f, i) == 0.5 * static_cast<double>(numbers_up(i)));
            CHECK(lane(1.5 - list, i) == 1.5 - static_cast<double>(listed[i]));
        }
    }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("indices of lanes are integers", "[kernel]", lane_widths) {
    check_all<float, TestType>();
    if constexpr (std::is_same_v<TestType, arch::best>) check_all<double, TestType>();
}

TEMPLATE_LIST_TEST_CASE("positions stay exact where floats are not", "[kernel]", lane_widths) {
    index_t const far = index_t{1} << 40;
    kernel::positions<float, TestType> const keys{far};
    CHECK(lane(keys < far + 2, 1) == 1);
    CHECK(lane(keys < far + 2, 2) == 0);
    CHECK(lane(keys >= far + 1, 0) == 0);
    CHECK(lane(keys >= far + 1, 1) == 1);
    CHECK(lane(far + 1 - keys > 0, 0) == 1);
    CHECK(lane(far + 1 - keys > 0, 1) == 0);
}

TEMPLATE_LIST_TEST_CASE("positions beside the ends of all integers", "[kernel]", lane_widths) {
    using limits = std::numeric_limits<index_t>;
    kernel::positions<float, TestType> const up{5};
    auto const down = 5 - up;
    for (index_t const limit : {limits::max(), limits::max() - 3, limits::min(), limits::min() + 3}) {
        bool const greater = limit > 0;
        CHECK(lane(up < limit, 1) == greater);
        CHECK(lane(up <= limit, 1) == greater);
        CHECK(lane(up > limit, 1) != greater);
        CHECK(lane(down < limit, 1) == greater);
        CHECK(lane(down <= limit, 1) == greater);
        CHECK(lane(limit < down, 1) != greater);
    }
}

TEMPLATE_LIST_TEST_CASE("lanes beside a number that none can hold", "[kernel]", lane_widths) {
    using indices = kernel::index_pack<float, TestType>;
    using narrow = std::numeric_limits<std::int32_t>;
    for (index_t const element : {index_t{narrow::min()}, index_t{-1}, index_t{0}, index_t{narrow::max()}})
        for (index_t const number : {index_t{narrow::min()} - 1, index_t{narrow::min()}, index_t{0}, index_t{1} << 32,
                                     index_t{narrow::max()}, index_t{narrow::max()} + 1, -(index_t{1} << 40)}) {
            CAPTURE(element, number);
            indices const x(element);
            CHECK(lane(x < number, 0) == (element < number));
            CHECK(lane(x <= number, 0) == (element <= number));
            CHECK(lane(x > number, 0) == (element > number));
            CHECK(lane(x >= number, 0) == (element >= number));
            CHECK(lane(x == number, 0) == (element == number));
            CHECK(lane(number < x, 0) == (number < element));
            CHECK(lane(number <= x, 0) == (number <= element));
            CHECK(lane(number > x, 0) == (number > element));
            CHECK(lane(number >= x, 0) == (number >= element));
            CHECK(lane(number == x, 0) == (number == element));
        }
}

namespace {

__extension__ using wide = __int128;

/// The integer of 64 bits that is the same as one of 128 to a multiple of 2^64.
index_t wrapped(wide x) { return static_cast<index_t>(static_cast<std::uint64_t>(x)); }
wide floor_of(wide a, wide b) { return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

/// Integers at the ends of 8, 32 and 64 bits, and anywhere.
index_t extreme(testing::dice& random) {
    constexpr index_t ends[] = {0, 128, index_t{1} << 31, index_t{1} << 32, std::numeric_limits<index_t>::min()};
    auto const near = random.between(-2, 2);
    if (random.chance(0.2)) return random.between(-9, 9);
    if (random.chance(0.2))
        return wrapped(wide{random.between(-1 << 30, 1 << 30)} * random.between(0, index_t{1} << 40));
    auto const at = ends[static_cast<std::size_t>(random.between(0, 4))];
    return wrapped(wide{random.chance(0.5) ? at : wrapped(-wide{at})} + near);
}

/// Arithmetic of the language with numbers, intervals and exact lanes, against integers of 128 bits.
template <class T, class Arch>
void check_exact() {
    using exact = kernel::wide_pack<T, Arch>;
    testing::dice random(17);
    for (int trial = 0; trial < 400; ++trial) {
        exact x, y;
        for (auto* pack : {&x, &y})
            for (auto& element : pack->lane) element = extreme(random);
        index_t const n = extreme(random);
        auto const check = [&](char const* name, auto operation, auto const& truth) {
            using op = decltype(operation);
            auto const lanes = op::apply(x, y);
            auto const beside = op::apply(x, n);
            for (std::size_t i = 0; i < x.lane.size(); ++i) {
                index_t const a = x.lane[i], b = y.lane[i], right = wrapped(truth(a, b));
                CAPTURE(name, a, b, n);
                CHECK(lanes.array()[i] == right);
                CHECK(op::apply(a, b) == right);
                CHECK(beside.array()[i] == wrapped(truth(a, n)));
                auto const lo = std::min(a, b), hi = std::max(a, b);
                auto const said = op::apply(interval<index_t>{lo, hi}, interval<index_t>(n));
                CHECK(said.contains(wrapped(truth(a, n))));
                CHECK(said.contains(wrapped(truth(b, n))));
                CHECK(op::apply(interval<index_t>(n), interval<index_t>{lo, hi}).contains(wrapped(truth(n, a))));
            }
        };
        check("+", operations::plus{}, [](wide a, wide b) { return a + b; });
        check("-", operations::minus{}, [](wide a, wide b) { return a - b; });
        check("*", operations::times{}, [](wide a, wide b) { return a * b; });
        check("/", operations::divided{}, floor_of);
        check("%", operations::modulo{}, [](wide a, wide b) { return b == 0 ? a : a - floor_of(a, b) * b; });
        check("min", operations::min{}, [](wide a, wide b) { return a < b ? a : b; });
        check("max", operations::max{}, [](wide a, wide b) { return a < b ? b : a; });
        for (std::size_t i = 0; i < x.lane.size(); ++i) {
            index_t const a = x.lane[i], b = y.lane[i];
            CAPTURE(a, b);
            CHECK(lane(x < y, i) == (a < b));
            CHECK(lane(x <= y, i) == (a <= b));
            CHECK(lane(x == y, i) == (a == b));
            CHECK(lane(x >= n, i) == (a >= n));
            CHECK(lane(n > x, i) == (n > a));
            CHECK(select(x < y, x, y).array()[i] == std::min(a, b));
            CHECK(operations::negate::apply(x).array()[i] == wrapped(-wide{a}));
            CHECK(operations::negate::apply(a) == wrapped(-wide{a}));
            CHECK(operations::abs::apply(x).array()[i] == wrapped(a < 0 ? -wide{a} : wide{a}));
            CHECK(operations::abs::apply(a) == wrapped(a < 0 ? -wide{a} : wide{a}));
            CHECK(operations::square::apply(x).array()[i] == wrapped(wide{a} * a));
            CHECK(operations::square::apply(a) == wrapped(wide{a} * a));
            auto const range = interval<index_t>{std::min(a, b), std::max(a, b)};
            CHECK(operations::negate::apply(range).contains(wrapped(-wide{a})));
            CHECK(operations::abs::apply(range).contains(operations::abs::apply(a)));
            CHECK(operations::square::apply(range).contains(operations::square::apply(b)));
            CHECK(lane(x.to_real(), i) == static_cast<double>(static_cast<T>(a)));
        }
    }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("exact lanes, numbers and intervals agree with integers of 128 bits", "[kernel]", lane_widths) {
    check_exact<float, TestType>();
    if constexpr (std::is_same_v<TestType, arch::best>) check_exact<double, TestType>();
}

TEMPLATE_LIST_TEST_CASE("masks of lanes", "[kernel]", lane_widths) {
    using mask = kernel::lane_mask<float, TestType>;
    kernel::positions<float, TestType> const keys{0};
    auto const one = keys < 1;
    CHECK(one.any());
    CHECK(mask::all().any());
    CHECK_FALSE(mask::none().any());
    CHECK_FALSE((one && !one).any());
    CHECK_FALSE((one && false).any());
    CHECK(lane(one || true, 3) == 1);
    CHECK(lane(one || false, 3) == 0);
    CHECK(lane(!one, 0) == 0);
    CHECK(lane(!one, 3) == 1);
}
