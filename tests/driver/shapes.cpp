// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: native
// Ranks, strides, types and sizes of nothing.
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace fovea;

namespace {

constexpr auto plain = scaled_dot | softmax | weighted_sum;

template <class A, class B>
bool close(A const& a, B const& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](auto x, auto y) { return std::abs(static_cast<double>(x) - static_cast<double>(y)) <= 1e-5; });
}

}  // namespace

TEST_CASE("the rank of the operands is free", "[driver]") {
    testing::dice random(3);
    auto const x = testing::random_tensor<float>(random, std::array<index_t, 2>{21, 8});
    tensor<float, 2> two({21, 8});
    tensor<float, 3> three({1, 21, 8});
    tensor<float, 4> four({1, 1, 21, 8});
    attend(plain, x, two);
    attend(plain, queries(x), memory(x), three);
    view<float const, 4> const as_four(x.data(), {1, 1, 21, 8});
    attend(plain, as_four, as_four, as_four, four);
    CHECK(two.elements == three.elements);
    CHECK(two.elements == four.elements);
}

TEST_CASE("nothing at all is no error", "[driver]") {
    tensor<float, 2> const none({0, 4}), some({5, 4}, 1);
    tensor<float, 2> empty({0, 4}), out({5, 4}, 7);
    tensor<float, 1> sums({5}, 7);
    CHECK_NOTHROW(attend(plain, none, some, some, empty));
    CHECK_NOTHROW(attend(threads(3), plain, none, none, none, empty));
    attend(threads(2), plain, some, none, none, out, lse(sums));
    CHECK(std::all_of(out.begin(), out.end(), [](float x) { return x == 0; }));
    CHECK(std::all_of(sums.begin(), sums.end(), [](float x) { return x == -std::numeric_limits<float>::infinity(); }));

    tensor<float, 4> const no_batch({0, 2, 5, 4});
    tensor<float, 4> nowhere({0, 2, 5, 4});
    CHECK_NOTHROW(attend(plain, no_batch, no_batch, no_batch, nowhere));

    tensor<float, 2> const no_values({5, 0});
    tensor<float, 2> no_result({5, 0});
    attend(plain, some, some, no_values, no_result, lse(sums));
    CHECK(sums(0) == Approx(2 + std::log(5.0)));
}

TEST_CASE("operands of several types are computed in the widest", "[driver]") {
    testing::dice random(3);
    auto const q = testing::random_tensor<float>(random, std::array<index_t, 2>{21, 8});
    auto const k = testing::random_tensor<double>(random, std::array<index_t, 2>{23, 8});
    tensor<double, 2> out({21, 8}), expected({21, 8});
    attend(plain, q, k, k, out);
    reference::attend(plain, q, k, k, expected);
    for (std::size_t i = 0; i < out.elements.size(); ++i)
        CHECK(out.elements[i] == Approx(expected.elements[i]).epsilon(1e-13).margin(1e-14));
    tensor<float, 2> rounded({21, 8});
    attend(plain, q, k, k, rounded);
    CHECK(close(rounded, expected));
}
