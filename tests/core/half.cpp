// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The 16-bit storage types, over all their values.
#include <fovea/core/half.hpp>

#include "catch.hpp"

#include <cmath>
#include <limits>
#include <string>

using namespace fovea;

namespace {

template <class Half>
void check_round_trip() {
    for (unsigned bits = 0; bits <= 0xffffU; ++bits) {
        auto const half = Half::from_bits(static_cast<std::uint16_t>(bits));
        float const x = half;
        if (x != x) REQUIRE(static_cast<float>(Half(x)) != static_cast<float>(Half(x)));
        else REQUIRE(Half(x).bits == half.bits);
    }
}

/// Halfway between two neighbours the even one is taken, on either side of it the nearer.
template <class Half>
void check_rounding(unsigned greatest) {
    for (unsigned bits = 0; bits < greatest; ++bits) {
        double const low = static_cast<float>(Half::from_bits(static_cast<std::uint16_t>(bits)));
        double const high = static_cast<float>(Half::from_bits(static_cast<std::uint16_t>(bits + 1)));
        auto const middle = static_cast<float>((low + high) / 2);
        REQUIRE(Half(middle).bits == (bits % 2 == 0 ? bits : bits + 1));
        REQUIRE(Half(std::nextafter(middle, 0.0f)).bits == bits);
        REQUIRE(Half(std::nextafter(middle, 1e30f)).bits == bits + 1);
        REQUIRE(Half(-middle).bits == (Half(middle).bits | 0x8000U));
    }
}

}  // namespace

TEST_CASE("every 16-bit number is a float and back", "[core]") {
    check_round_trip<float16>();
    check_round_trip<bfloat16>();
}

TEST_CASE("numbers are rounded to the nearest, ties to even", "[core]") {
    check_rounding<float16>(0x7bffU);
    check_rounding<bfloat16>(0x7147U);  // up to 1e30
}

TEST_CASE("what is too great is infinite, and known values are what they are", "[core]") {
    STATIC_REQUIRE(float16(65504).bits == 0x7bffU);
    STATIC_REQUIRE(float16(65520).bits == 0x7c00U);
    STATIC_REQUIRE(float16(1e10).bits == 0x7c00U);
    STATIC_REQUIRE(float16(1.0).bits == 0x3c00U);
    STATIC_REQUIRE(float16(0x1p-24f).bits == 1);
    STATIC_REQUIRE(bfloat16(1).bits == 0x3f80U);
    STATIC_REQUIRE(bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80U);
    STATIC_REQUIRE(static_cast<float>(bfloat16(-std::numeric_limits<double>::infinity()))
                   == -std::numeric_limits<float>::infinity());
}
