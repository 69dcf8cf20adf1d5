// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The 8-bit storage types with an exponent, over all their values.
#include <fovea/core/fp8.hpp>

#include "catch.hpp"

#include <cmath>
#include <limits>

using namespace fovea;

namespace {

template <class Number>
float number(unsigned bits) {
    return Number::from_bits(static_cast<std::uint8_t>(bits));
}

/// Halfway between two neighbours the even one is taken, on either side of it the nearer.
template <class Number>
void check_rounding(unsigned greatest) {
    for (unsigned bits = 0; bits <= 0xffU; ++bits) {
        float const x = number<Number>(bits);
        if (x != x) REQUIRE(std::isnan(static_cast<float>(Number(x))));
        else REQUIRE(Number(x).bits == bits);
    }
    for (unsigned bits = 0; bits < greatest; ++bits) {
        double const low = number<Number>(bits), high = number<Number>(bits + 1);
        REQUIRE(low < high);
        auto const middle = static_cast<float>((low + high) / 2);
        REQUIRE(Number(middle).bits == (bits % 2 == 0 ? bits : bits + 1));
        REQUIRE(Number(std::nextafter(middle, 0.0f)).bits == bits);
        REQUIRE(Number(std::nextafter(middle, 1e30f)).bits == bits + 1);
        REQUIRE(Number(-middle).bits == (Number(middle).bits | 0x80U));
    }
}

}  // namespace

TEST_CASE("8-bit numbers are floats and back, rounded to the nearest, ties to even", "[core]") {
    check_rounding<fp8_e4m3>(0x7eU);
    check_rounding<fp8_e5m2>(0x7bU);
}

TEST_CASE("known 8-bit numbers, and what is too great", "[core]") {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    CHECK(number<fp8_e4m3>(0x7e) == 448);
    CHECK(number<fp8_e4m3>(0x08) == 0x1p-6f);
    CHECK(number<fp8_e4m3>(0x01) == 0x1p-9f);
    CHECK(number<fp8_e4m3>(0xb8) == -1);
    CHECK(number<fp8_e5m2>(0x7b) == 57344);
    CHECK(number<fp8_e5m2>(0x01) == 0x1p-16f);
    CHECK(number<fp8_e5m2>(0x7c) == infinity);
    for (float const x : {449.0f, 480.0f, 1e30f, infinity}) {
        CHECK(fp8_e4m3(x).bits == 0x7eU);
        CHECK(fp8_e4m3(-x).bits == 0xfeU);
    }
    CHECK(fp8_e5m2(61439.0f).bits == 0x7bU);
    CHECK(fp8_e5m2(61440.0f).bits == 0x7cU);
    CHECK(fp8_e5m2(-infinity).bits == 0xfcU);
    CHECK(std::isnan(static_cast<float>(fp8_e4m3(std::numeric_limits<double>::quiet_NaN()))));
    CHECK(std::isnan(static_cast<float>(fp8_e5m2(std::numeric_limits<double>::quiet_NaN()))));
}
