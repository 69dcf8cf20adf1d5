// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/expr/scalar.hpp>

#include "catch.hpp"

using namespace fovea;

TEST_CASE("threefry gives the bits that its authors publish", "[core]") {
    using pair = std::array<std::uint32_t, 2>;
    STATIC_REQUIRE(threefry({0, 0}, {0, 0}) == pair{0x6b200159U, 0x99ba4efeU});
    STATIC_REQUIRE(threefry({0xffffffffU, 0xffffffffU}, {0xffffffffU, 0xffffffffU}) == pair{0x1cb996fcU, 0xbb002be7U});
    STATIC_REQUIRE(threefry({0x243f6a88U, 0x85a308d3U}, {0x13198a2eU, 0x03707344U}) == pair{0xc4923a9cU, 0x483df7a0U});
}

TEST_CASE("numbers of pairs are spread evenly between 0 and 1", "[core]") {
    int buckets[16] = {};
    for (index_t q = 0; q < 200; ++q)
        for (index_t k = 0; k < 200; ++k) {
            double const u = uniform_of_pair(7, 1, 2, q, k);
            REQUIRE(u > 0);
            REQUIRE(u < 1);
            REQUIRE(static_cast<double>(static_cast<float>(u)) == u);
            ++buckets[static_cast<int>(u * 16)];
        }
    for (int const count : buckets) CHECK(count == Approx(2500).epsilon(0.08));
}

TEST_CASE("every index matters", "[core]") {
    double const u = uniform_of_pair(1, 2, 3, 4, 5);
    CHECK(uniform_of_pair(2, 2, 3, 4, 5) != u);
    CHECK(uniform_of_pair(1, 3, 3, 4, 5) != u);
    CHECK(uniform_of_pair(1, 2, 4, 4, 5) != u);
    CHECK(uniform_of_pair(1, 2, 3, 5, 5) != u);
    CHECK(uniform_of_pair(1, 2, 3, 4, 6) != u);
}
