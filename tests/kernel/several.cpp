// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Some vectors as one: every lane is what it is in a vector of its own.
#include <fovea/kernel/counter_random.hpp>
#include <fovea/kernel/math.hpp>
#include <fovea/kernel/positions.hpp>
#include <fovea/kernel/several.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace fovea;

namespace {

/// Numbers, some of which are 0, equal to each other or infinite.
template <class T>
std::vector<T> numbers(index_t n, unsigned seed) {
    testing::dice random(seed);
    std::vector<T> all;
    for (index_t i = 0; i < n; ++i)
        all.push_back(i % 7 == 3    ? T{0}
                      : i % 11 == 5 ? std::numeric_limits<T>::infinity()
                                    : static_cast<T>(random.real(-3, 3)));
    return all;
}

/// The same but for the last bits: of arrays, compilers fuse products and sums as they like.
template <class T>
bool agree(T x, T y) {
    return x == y || (std::isnan(x) && std::isnan(y))
        || (std::isfinite(x) && std::abs(x - y) <= 4 * std::numeric_limits<T>::epsilon() * std::max(T{1}, std::abs(x)));
}

/// f of packs of Count vectors is f of each vector. A function of an architecture's packs is given three.
template <class T, class Arch, int Count, class F>
void check_same(F const& f) {
    using one = kernel::pack<T, Arch>;
    using many = kernel::pack<T, arch::several<Arch, Count>>;
    static_assert(many::lanes == Count * one::lanes);
    auto const a = numbers<T>(many::lanes, 1), b = numbers<T>(many::lanes, 2), c = numbers<T>(many::lanes, 3);
    std::vector<T> expected(a.size()), got(a.size());
    many(f(many::load(a.data()), many::load(b.data()), many::load(c.data()))).store(got.data());
    for (index_t i = 0; i < many::lanes; i += one::lanes)
        one(f(one::load(a.data() + i), one::load(b.data() + i), one::load(c.data() + i))).store(expected.data() + i);
    for (std::size_t i = 0; i < a.size(); ++i) {
        CAPTURE(i, a[i], b[i], c[i], expected[i], got[i]);
        CHECK(agree(expected[i], got[i]));
    }
}

template <class Arch, class F>
void check_all(F const& f) {
    check_same<float, Arch, 2>(f);
    check_same<float, Arch, 3>(f);
    check_same<double, Arch, 3>(f);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("arithmetic on several vectors", "[kernel]", lane_widths) {
    check_all<TestType>([](auto a, auto b, auto c) { return fma(a, b, c); });
    check_all<TestType>([](auto a, auto b, auto c) { return a * b - c / (b + 5); });
    check_all<TestType>([](auto a, auto b, auto c) { return min(a, b) + max(b, c) + abs(a); });
    check_all<TestType>([](auto a, auto, auto) { return sqrt(abs(a)); });
}

TEMPLATE_LIST_TEST_CASE("conditions on several vectors", "[kernel]", lane_widths) {
    check_all<TestType>([](auto a, auto b, auto c) { return select(a < b && !(b <= c), a, c); });
    check_all<TestType>([](auto a, auto b, auto c) { return select(a == b || c < a, b, c); });
    using many = kernel::pack<float, arch::several<TestType, 3>>;
    std::vector<float> a(static_cast<std::size_t>(many::lanes), 1.0f);
    for (std::size_t i = 0; i < a.size(); ++i) {  // any() finds a single lane, wherever it is
        CHECK_FALSE((many::load(a.data()) < many(0)).any());
        a[i] = -1;
        CHECK((many::load(a.data()) < many(0)).any());
        a[i] = 1;
    }
}

TEMPLATE_LIST_TEST_CASE("functions of several vectors", "[kernel]", lane_widths) {
    check_all<TestType>([](auto a, auto, auto) { return exp(a); });
    check_all<TestType>([](auto a, auto, auto) { return exp2(a); });
    check_all<TestType>([](auto a, auto, auto) { return tanh(a); });
    check_all<TestType>([](auto a, auto, auto) { return erf(a); });
    check_all<TestType>([](auto a, auto, auto) { return log(abs(a)); });
    check_all<TestType>([](auto a, auto, auto) { return reciprocal(a + 4); });
}

TEMPLATE_LIST_TEST_CASE("positions in several vectors count on", "[kernel]", lane_widths) {
    using arch_type = arch::several<TestType, 3>;
    using lanes = kernel::positions<float, arch_type>;
    auto const spread = lanes{40}.spread().array();
    for (std::size_t i = 0; i < spread.size(); ++i) CHECK(spread[i] == 40 + static_cast<std::int32_t>(i));
    auto const remainder = (lanes{40} % 7).array();
    for (std::size_t i = 0; i < spread.size(); ++i) CHECK(remainder[i] == spread[i] % 7);
    std::vector<float> below(spread.size());
    select(lanes{40} < 43, kernel::pack<float, arch_type>(1), kernel::pack<float, arch_type>(0)).store(below.data());
    for (std::size_t i = 0; i < below.size(); ++i) CHECK(below[i] == (i < 3 ? 1.0f : 0.0f));
}

TEMPLATE_LIST_TEST_CASE("random numbers of several vectors", "[kernel]", lane_widths) {
    using arch_type = arch::several<TestType, 2>;
    using real = kernel::pack<float, arch_type>;
    std::vector<float> got(static_cast<std::size_t>(real::lanes));
    real(kernel::uniform_of_pair(5, 1, 2, kernel::positions<float, arch_type>{9}, 4)).store(got.data());
    for (std::size_t i = 0; i < got.size(); ++i)
        CHECK(got[i] == static_cast<float>(fovea::uniform_of_pair(5, 1, 2, 9 + static_cast<index_t>(i), 4)));
}
