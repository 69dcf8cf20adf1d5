// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Subnormal numbers count as 0 while a subnormals_as_zero lives, and after it what they did before.
#include <fovea/core/half.hpp>
#include <fovea/core/subnormals.hpp>

#include "catch.hpp"

#include <cfenv>
#include <cstdint>
#include <limits>

using fovea::subnormals_as_zero;

namespace {

/// Numbers that the compiler does not know.
template <class T>
T hidden(T x) {
    T volatile now = x;
    return now;
}
/// Whether half of the smallest normal number is one.
template <class T>
bool has_subnormals() {
    return hidden(std::numeric_limits<T>::min()) / 2 != 0;
}
template <class T>
bool reads_subnormals() {
    return hidden(std::numeric_limits<T>::denorm_min()) * 0x1p30f != 0;
}

constexpr bool has_mode = subnormals_as_zero::has_mode;

}  // namespace

TEST_CASE("subnormal numbers are neither made nor read in a scope that takes them for 0", "[core]") {
    REQUIRE(has_subnormals<float>());
    {
        subnormals_as_zero const outer;
        CHECK(has_subnormals<float>() != has_mode);
        CHECK(has_subnormals<double>() != has_mode);
        CHECK(reads_subnormals<float>() != has_mode);
        {
            subnormals_as_zero const inner;
            CHECK(has_subnormals<float>() != has_mode);
        }
        CHECK(has_subnormals<float>() != has_mode);
    }
    CHECK(has_subnormals<float>());
    CHECK(has_subnormals<double>());
    CHECK(reads_subnormals<float>());
}

TEST_CASE("what else the processor keeps outlives the scope", "[core]") {
    std::feclearexcept(FE_ALL_EXCEPT);
    {
        subnormals_as_zero const mode;
        static_cast<void>(hidden(hidden(1.0f) / hidden(0.0f)));
    }
    CHECK(std::fetestexcept(FE_DIVBYZERO) != 0);
    std::feclearexcept(FE_ALL_EXCEPT);
}

TEST_CASE("half precision has its subnormal numbers wherever it is read", "[core]") {
    subnormals_as_zero const mode;
    for (std::uint16_t bits = 1; bits < 0x0400; bits = static_cast<std::uint16_t>(bits + 31))
        CHECK(static_cast<float>(fovea::float16::from_bits(bits)) == static_cast<float>(bits) * 0x1p-24f);
}
