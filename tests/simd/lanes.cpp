// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set
// Operations across lanes: reductions, and loads and stores of fewer elements than a vector has.
#include <fovea/kernel/environment.hpp>
#include <fovea/simd/simd.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"
#include "support/guarded.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

using namespace fovea;

namespace {

template <class T, class Arch>
void check_reductions() {
    using pack = kernel::pack<T, Arch>;
    using lanes = kernel::lanes_of<T, Arch>;
    testing::dice random(3);
    for (int trial = 0; trial < 100; ++trial) {
        auto const x = testing::random_tensor<T>(random, std::array<index_t, 1>{pack::lanes});
        auto const a = pack::load(x.data());
        CHECK(lanes::max(a) == *std::max_element(x.begin(), x.end()));
        CHECK(lanes::sum(a) == Approx(std::accumulate(x.begin(), x.end(), 0.0)).margin(1e-5));
        CHECK(lanes::sum(a) == lanes::sum(pack::load(x.data())));
    }
    constexpr T inf = std::numeric_limits<T>::infinity();
    CHECK(lanes::max(pack(-inf)) == -inf);
    CHECK(lanes::sum(pack(-inf)) == -inf);
    CHECK(lanes::sum(pack::iota()) == static_cast<T>(pack::lanes * (pack::lanes - 1) / 2));
    CHECK(std::isnan(lanes::sum(pack(std::numeric_limits<T>::quiet_NaN()))));
}

/// The `using std::max` of a word is one function in scalars and in packs, also of NaN and of the two zeros.
template <class T, class Arch>
void check_min_and_max() {
    using pack = kernel::pack<T, Arch>;
    using lanes = kernel::lanes_of<T, Arch>;
    using limits = std::numeric_limits<T>;
    T const odd[] = {T(1), T(-2), T(0), T(-0.0), limits::infinity(), -limits::infinity(), limits::quiet_NaN()};
    auto const same = [](T x, T y) {
        return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
    };
    for (T const a : odd)
        for (T const b : odd)
            for (std::size_t const lane : {std::size_t{0}, static_cast<std::size_t>(pack::lanes) - 1}) {
                CHECK(same(lanes::to_array(max(pack(a), pack(b)))[lane], std::max(a, b)));
                CHECK(same(lanes::to_array(min(pack(a), pack(b)))[lane], std::min(a, b)));
            }
}

template <class T, class Arch>
void check_partial() {
    using pack = kernel::pack<T, Arch>;
    using lanes = kernel::lanes_of<T, Arch>;
    for (index_t n = 0; n <= pack::lanes; ++n)
        for (auto wall : {guarded<T>::wall::behind, guarded<T>::wall::before}) {
            guarded<T> from(n, T{7}, wall), to(n, T{0}, wall);
            auto const loaded = lanes::load(from.data(), n);
            auto const all = lanes::to_array(loaded);
            for (index_t i = 0; i < pack::lanes; ++i) CHECK(all[static_cast<std::size_t>(i)] == (i < n ? T{7} : T{0}));
            lanes::store(loaded, to.data(), n);
            CHECK(std::equal(from.begin(), from.end(), to.begin()));
        }
    std::vector<T> beside(static_cast<std::size_t>(pack::lanes) + 2, T{-1});
    lanes::store(pack(T{5}), beside.data() + 1, pack::lanes - 1);
    CHECK(beside.front() == -1);
    CHECK(beside[static_cast<std::size_t>(pack::lanes) - 1] == 5);
    CHECK(beside[static_cast<std::size_t>(pack::lanes)] == -1);
}

template <class T, class Arch>
void check_powers_of_two() {
    using pack = kernel::pack<T, Arch>;
    using lanes = kernel::lanes_of<T, Arch>;
    constexpr int range = std::numeric_limits<T>::max_exponent - 2;
    for (int n = -range; n <= range; n += 7) {
        CHECK(lanes::to_array(lanes::two_to(pack(n))).back() == std::ldexp(T{1}, n));
        if constexpr (lanes::scales_any_exponent)
            CHECK(lanes::to_array(lanes::scale(pack(T{1.5}), pack(n))).back() == std::ldexp(T{1.5}, n));
    }
    CHECK(lanes::to_array(lanes::two_to(pack(-range - 1))).back() == 0);
    CHECK(lanes::to_array(lanes::two_to(pack(range + 2))).back() == std::numeric_limits<T>::infinity());
    for (auto const x : {T(-3), T(-2.5), T(-1e-30), T(0), T(0.25), T(2.75), T(1000000.5)})
        CHECK(lanes::to_array(floor(pack(x))).back() == std::floor(x));
}

template <class T, class Arch>
void check_transpose() {
    using pack = kernel::pack<T, Arch>;
    using lanes = kernel::lanes_of<T, Arch>;
    pack rows[pack::lanes];
    for (index_t i = 0; i < pack::lanes; ++i) rows[i] = pack::iota() + pack(100 * i);
    lanes::transpose(rows);
    for (index_t i = 0; i < pack::lanes; ++i)
        for (index_t j = 0; j < pack::lanes; ++j)
            CHECK(lanes::to_array(rows[i])[static_cast<std::size_t>(j)] == static_cast<T>(100 * j + i));
    auto const backwards = lanes::to_array(lanes::reversed(pack::iota()));
    for (index_t i = 0; i < pack::lanes; ++i)
        CHECK(backwards[static_cast<std::size_t>(i)] == static_cast<T>(pack::lanes - 1 - i));
    typename lanes::array digits;  // powers of two: a sum that lacks one, or has it twice, is another
    for (std::size_t i = 0; i < digits.size(); ++i) digits[i] = static_cast<T>(index_t{1} << i);
    for (index_t i = 0; i < pack::lanes; ++i) rows[i] = pack::load(digits.data()) * pack(i + 1);
    auto const sums = lanes::to_array(lanes::sums_of_rows(rows));
    for (index_t i = 0; i < pack::lanes; ++i)
        CHECK(sums[static_cast<std::size_t>(i)] == static_cast<T>((i + 1) * ((index_t{1} << pack::lanes) - 1)));
}

/// Elements that end where memory ends: 0 for every fifth, else their numbers.
template <class Element>
struct counted_elements {
    guarded<Element> elements;
    Element const* first = elements.data();
    explicit counted_elements(index_t count) : elements(count) {
        for (index_t i = 0; i < count; ++i) elements[i] = static_cast<Element>(i % 5 == 0 ? 0 : i);
    }
};
template <>
struct counted_elements<bit> {
    guarded<unsigned char> bytes;
    bit_pointer first;
    explicit counted_elements(index_t count) : bytes((count + 7) / 8) {
        index_t const before = 8 * bytes.size() - count;
        for (index_t i = 0; i < count; ++i)
            if (i % 5 != 0) bytes[(before + i) / 8] |= static_cast<unsigned char>(1 << (before + i) % 8);
        first = bit_pointer(bytes.data()) + before;
    }
};

/// Tables at positions, whatever their elements are: the same as one after the other.
template <class T, class Arch, class Element>
void check_table() {
    using pack = kernel::pack<T, Arch>;
    using positions = kernel::positions<T, Arch>;
    index_t const n = 3 * pack::lanes + 1;
    counted_elements<Element> const elements(2 * n);
    view<Element const, 2> const table(elements.first, {2, n});
    using value = detail::value_of_element<Element>;
    auto const as_reals = [](auto const& found) {
        if constexpr (std::is_same_v<value, bool>) return select(found, pack(T{1}), pack(T{0}));
        else return kernel::as_pack<T, Arch>(found);
    };
    auto const check = [&](auto const& index, index_t first, index_t step) {
        auto const found = kernel::look_up<T, Arch>(table, index_t{1}, index);
        auto const lane = kernel::lanes_of<T, Arch>::to_array(as_reals(found));
        for (index_t i = 0; i < pack::lanes; ++i)
            if (index_t const at = first + step * i; at >= 0 && at < n)
                CHECK(lane[static_cast<std::size_t>(i)] == static_cast<T>(table(1, at)));
    };
    auto const check_clamped = [&](auto const& index, index_t first, index_t step) {
        index_t const low = 2, high = n - 3;
        auto const lane = kernel::lanes_of<T, Arch>::to_array(
            as_reals(kernel::look_up<T, Arch>(table, index_t{1}, max(min(index, high), low))));
        for (index_t i = 0; i < pack::lanes; ++i)
            CHECK(lane[static_cast<std::size_t>(i)]
                  == static_cast<T>(table(1, std::clamp(first + step * i, low, high))));
    };
    // An index in any axis, at any distance of its elements, or in both axes; beyond an end it is that end.
    auto const check_apart = [&](view<Element const, 2> const& of, index_t first) {
        auto const index = to_integers(positions{first}) + kernel::index_pack<T, Arch>(0);
        auto const along =
            kernel::lanes_of<T, Arch>::to_array(as_reals(kernel::look_up<T, Arch>(of, index, index_t{1})));
        auto const both = kernel::lanes_of<T, Arch>::to_array(as_reals(kernel::look_up<T, Arch>(of, index, index % 2)));
        for (index_t i = 0; i < pack::lanes; ++i) {
            index_t const row = std::clamp<index_t>(first + i, 0, of.extent(0) - 1), odd = (first + i) & 1;
            CHECK(along[static_cast<std::size_t>(i)] == static_cast<T>(of(row, 1)));
            CHECK(both[static_cast<std::size_t>(i)] == static_cast<T>(of(row, odd)));
        }
    };
    for (index_t first = -pack::lanes; first < n + pack::lanes; ++first) {
        check_apart({elements.first, {n, 2}, {2, 1}}, first);
        check_apart({elements.first, {n, 2}, {0, 1}}, first);
        check_apart({elements.first + (2 * n - 2), {n, 2}, {-2, 1}}, first);
        check(positions{first}, first, 1);
        check(-positions{-first}, first, -1);
        check(to_integers(positions{first}) + kernel::index_pack<T, Arch>(0), first, 1);
        check_clamped(positions{first}, first, 1);
        check_clamped(-positions{-first}, first, -1);
    }
    CHECK(static_cast<value>(kernel::look_up<T, Arch>(table, index_t{0}, index_t{3})) == table(0, 3));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("sums and maxima of lanes, min and max of each", "[kernel]", lane_widths) {
    check_reductions<float, TestType>();
    check_reductions<double, TestType>();
    check_min_and_max<float, TestType>();
    check_min_and_max<double, TestType>();
}

TEMPLATE_LIST_TEST_CASE("parts of vectors touch nothing beside them", "[kernel]", lane_widths) {
    check_partial<float, TestType>();
    check_partial<double, TestType>();
}

TEMPLATE_LIST_TEST_CASE("powers of two are exact", "[kernel]", lane_widths) {
    check_powers_of_two<float, TestType>();
    check_powers_of_two<double, TestType>();
}

TEMPLATE_LIST_TEST_CASE("rows become columns", "[kernel]", lane_widths) {
    check_transpose<float, TestType>();
    check_transpose<double, TestType>();
}

TEMPLATE_LIST_TEST_CASE("tables are read inside their ends", "[kernel]", lane_widths) {
    check_table<float, TestType, float>();
    check_table<float, TestType, double>();
    check_table<float, TestType, int>();
    check_table<float, TestType, bool>();
    check_table<float, TestType, bit>();
    check_table<double, TestType, bit>();
    check_table<double, TestType, std::int64_t>();
}
