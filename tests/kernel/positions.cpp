// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Indices, one for each lane, against the same arithmetic on numbers.
#include <fovea/kernel/positions.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"

#include <cstdint>
#include <vector>

using namespace fovea;

namespace {

/// The value in one lane of whatever an operation gives.
template <class T, class Arch>
double lane(kernel::lane_mask<T, Arch> const& m, std::size_t i) {
    using pack = kernel::pack<T, Arch>;
    return static_cast<double>(kernel::lanes_of<T, Arch>::stored(select(m, pack(T{1}), pack(T{0})))[i]);
}
template <class T, class Arch>
double lane(kernel::pack<T, Arch> const& a, std::size_t i) {
    return static_cast<double>(kernel::lanes_of<T, Arch>::stored(a)[i]);
}
template <kernel::lane_indices I>
double lane(I const& a, std::size_t i) {
    return static_cast<double>(kernel::spread(a).array()[i]);
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
    using std::max, std::min;
    same("+", [](auto const& a, auto const& b) { return a + b; });
    same("-", [](auto const& a, auto const& b) { return a - b; });
    same("*", [](auto const& a, auto const& b) { return a * b; });
    same("<", [](auto const& a, auto const& b) { return a < b; });
    same("<=", [](auto const& a, auto const& b) { return a <= b; });
    same(">", [](auto const& a, auto const& b) { return a > b; });
    same(">=", [](auto const& a, auto const& b) { return a >= b; });
    same("==", [](auto const& a, auto const& b) { return a == b; });
    same("min", [](auto const& a, auto const& b) { return min(a, b); });
    same("max", [](auto const& a, auto const& b) { return max(a, b); });
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
