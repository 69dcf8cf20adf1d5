// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/parts/exact_sink.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <algorithm>
#include <vector>

using namespace fovea;

namespace {

template <class T>
std::vector<std::int64_t> sum_of(std::vector<T> const& numbers) {
    std::vector<std::int64_t> sum(std::size_t{exact_sum<T>::words});
    for (T const x : numbers) exact_sum<T>::add(sum.data(), x);
    return sum;
}
template <class T>
T total(std::vector<T> const& numbers) {
    return exact_sum<T>::rounded(sum_of(numbers).data());
}

template <class T>
void check_sums() {
    using limits = std::numeric_limits<T>;
    T const most = limits::max(), least = limits::denorm_min(), infinity = limits::infinity();
    for (T const x : {T{0}, T{1}, T{-1}, T{0.1f}, T{-3e20f}, most, -most, least, -least, limits::min(), T{7e-30f}})
        CHECK(total<T>({x}) == x);
    CHECK(total<T>({most, least, -most}) == least);
    CHECK(total<T>({most, most, -most, -most, T{-5}}) == T{-5});
    CHECK(total<T>({most, most}) == infinity);
    CHECK(total<T>({T{1}, limits::epsilon() / 2}) == T{1});  // half way, to even
    CHECK(total<T>({T{1}, limits::epsilon() / 2, least}) == T{1} + limits::epsilon());
    CHECK(total<T>({T{-1}, -limits::epsilon() / 2, -least}) == T{-1} - limits::epsilon());
    CHECK(total<T>({T{3}, infinity}) == infinity);
    CHECK(total<T>({-infinity, most}) == -infinity);
    CHECK(std::isnan(total<T>({-infinity, infinity})));
    CHECK(std::isnan(total<T>({T{1}, limits::quiet_NaN()})));
    CHECK(total<T>({}) == T{0});
}

}  // namespace

TEST_CASE("a sum is exact until it is rounded", "[core]") {
    check_sums<float>();
    check_sums<double>();
}

TEST_CASE("a sum is the same in any order, and in any parts", "[core]") {
    testing::dice random{11};
    std::vector<float> numbers;
    double plain = 0;
    for (int i = 0; i < 1000; ++i) {
        auto const x = static_cast<float>(std::ldexp(random.real(-1, 1), i % 40 - 20));
        numbers.push_back(x);
        plain += static_cast<double>(x);
    }
    auto const sum = sum_of(numbers);
    CHECK(exact_sum<float>::rounded(sum.data()) == Approx(plain).epsilon(1e-7));
    auto turned = numbers;
    std::reverse(turned.begin(), turned.end());
    std::rotate(turned.begin(), turned.begin() + 333, turned.end());
    auto const other = exact_sum<float>::rounded(sum_of(turned).data());
    CHECK(other == exact_sum<float>::rounded(sum.data()));
    auto parts = sum_of(std::vector(numbers.begin(), numbers.begin() + 400));
    auto const rest = sum_of(std::vector(numbers.begin() + 400, numbers.end()));
    for (std::size_t w = 0; w < parts.size(); ++w) parts[w] += rest[w];
    CHECK(parts == sum);
}
