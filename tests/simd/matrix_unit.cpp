// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set alone
// The matrix unit: its emulation against the definition in integers, and the unit of the machine against the emulation.
#include <fovea/core/half.hpp>
#include <fovea/simd/matrix_unit.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

using namespace fovea;

namespace {

using emulated = kernel::matrix_unit<arch::emulated<64, 32, true>>;
static_assert(kernel::multiplies_tiles<emulated>);
#if defined(__x86_64__)
static_assert(kernel::multiplies_tiles<kernel::matrix_unit<arch::avx512_amx>>);
#endif
template <class T, std::size_t Columns>
using rows_of = std::array<std::array<T, Columns>, 16>;

/// The operands of one product of tiles: A and C by rows, B by pairs of its rows.
struct operands {
    rows_of<bfloat16, 32> a{}, b{};
    rows_of<float, 16> c{};

    bfloat16& b_at(std::size_t k, std::size_t n) { return b[k / 2][2 * n + k % 2]; }
};

template <class Unit>
rows_of<float, 16> product_by(operands const& of) {
    typename Unit::scope const configured;
    rows_of<float, 16> result;
    Unit::template load<0>(of.c.data(), 64);
    Unit::template load<4>(of.a.data(), 64);
    Unit::template load<6>(of.b.data(), 64);
    Unit::template add_products<0, 4, 6>();
    Unit::template store<0>(result.data(), 64);
    return result;
}

/// One element of a product where but one element of A and of B is not 0.
float product_of(std::uint16_t a, std::uint16_t b, float c, std::size_t k = 5) {
    operands of;
    of.a[2][k].bits = a;
    of.b_at(k, 3).bits = b;
    of.c[2][3] = c;
    return product_by<emulated>(of)[2][3];
}
std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

/// To 24 significant bits, to nearest, halves to even: in integers alone.
std::int64_t rounded(std::int64_t x) {
    auto const magnitude = static_cast<std::uint64_t>(x < 0 ? -x : x);
    int const dropped = std::max(static_cast<int>(std::bit_width(magnitude)) - 24, 0);
    std::uint64_t const unit = std::uint64_t{1} << dropped, rest = magnitude % unit;
    std::uint64_t kept = magnitude - rest;
    if (2 * rest > unit || (2 * rest == unit && rest != 0 && (kept / unit) % 2 == 1)) kept += unit;
    return x < 0 ? -static_cast<std::int64_t>(kept) : static_cast<std::int64_t>(kept);
}

bool same(rows_of<float, 16> const& a, rows_of<float, 16> const& b) {
    for (std::size_t m = 0; m < 16; ++m)
        for (std::size_t n = 0; n < 16; ++n)
            if (!(bits(a[m][n]) == bits(b[m][n]) || (std::isnan(a[m][n]) && std::isnan(b[m][n])))) return false;
    return true;
}

}  // namespace

TEST_CASE("the emulated matrix unit rounds each multiply-add, even and odd elements apart", "[simd]") {
    testing::dice random(1);
    for (int round = 0; round < 20; ++round) {
        operands of;
        std::array<std::array<std::int64_t, 32>, 16> a{}, b{};  // b[n][k]
        rows_of<std::int64_t, 16> c{};
        auto const number = [&] { return random.between(-255, 255) * (std::int64_t{1} << random.between(0, 9)); };
        for (std::size_t i = 0; i < 16; ++i)
            for (std::size_t k = 0; k < 32; ++k) {
                of.a[i][k] = bfloat16(static_cast<float>(a[i][k] = number()));
                of.b_at(k, i) = bfloat16(static_cast<float>(b[i][k] = number()));
                if (k < 16) of.c[i][k] = static_cast<float>(c[i][k] = random.between(-9999, 9999));
            }
        auto const got = product_by<emulated>(of);
        bool equal = true, rounds = false;
        for (std::size_t m = 0; m < 16; ++m)
            for (std::size_t n = 0; n < 16; ++n) {
                std::int64_t sums[2] = {}, exact = c[m][n];
                for (std::size_t k = 0; k < 32; ++k) {
                    sums[k % 2] = rounded(sums[k % 2] + a[m][k] * b[n][k]);
                    exact += a[m][k] * b[n][k];
                }
                auto const expected = rounded(c[m][n] + rounded(sums[0] + sums[1]));
                equal = equal && got[m][n] == static_cast<float>(expected);
                rounds = rounds || expected != exact;
            }
        CHECK((equal && rounds));
    }
}

TEST_CASE("subnormal numbers are 0 to the matrix unit, and become 0", "[simd]") {
    constexpr float least = std::numeric_limits<float>::min();
    std::uint16_t const one = 0x3f80, half = 0x3f00, subnormal = 0x007f, smallest = 0x0080;  // 2^-126
    CHECK(product_of(subnormal, one, 0) == 0);
    CHECK(product_of(one, subnormal, 2) == 2);
    CHECK(product_of(smallest, one, 0) == least);
    CHECK(product_of(smallest, half, 0) == 0);
    CHECK(product_of(smallest, one, -1.5f * least) == 0);
    CHECK(product_of(0, one, least / 2) == 0);
    // 2^-126 less 3/4 and 1/4 of the distance to the number before it, if exponents were not bounded.
    operands of;
    auto const put = [&](std::size_t k, float a, float b) { of.a[0][k] = bfloat16(a), of.b_at(k, 0) = bfloat16(b); };
    put(0, 0x1p-63f, 0x1p-63f);
    put(2, -3 * 0x1p-76f, 0x1p-76f);
    CHECK(product_by<emulated>(of)[0][0] == 0);
    put(2, -0x1p-76f, 0x1p-76f);
    CHECK(product_by<emulated>(of)[0][0] == least);
}

TEST_CASE("the matrix unit passes on what is not finite", "[simd]") {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    CHECK(product_of(0x7f80, 0x3f80, 1) == infinity);
    CHECK(product_of(0x7f80, 0xbf80, 1) == -infinity);
    CHECK(std::isnan(product_of(0x7f80, 0, 1)));
    CHECK(std::isnan(product_of(0x7f80, 0x3f80, -infinity)));
    CHECK(product_of(0x7f7f, 0x7f7f, 0) == infinity);
}

TEST_CASE("the matrix unit is the thread's, configured by scopes that nest", "[simd]") {
    operands ones;
    for (auto& row : ones.a) row.fill(bfloat16(1.0f));
    for (auto& row : ones.b) row.fill(bfloat16(1.0f));
    float result[16][16];
    auto const multiply = [&] {
        emulated::zero<0>();
        emulated::load<4>(ones.a.data(), 64);
        emulated::load<6>(ones.b.data(), 64);
        emulated::add_products<0, 4, 6>();
        emulated::store<0>(result, 64);
        return result[7][9];
    };
    CHECK(std::isnan(multiply()));
    emulated::scope const configured;
    CHECK(multiply() == 32);
    CHECK(product_by<emulated>(ones)[0][0] == 32);
    CHECK(multiply() == 32);
    float elsewhere = 0;
    std::thread([&] { elsewhere = multiply(); }).join();
    CHECK(std::isnan(elsewhere));
}

TEST_CASE("tiles are loaded and stored row by row, with any stride", "[simd]") {
    std::vector<std::uint32_t> from(16 * 21), to(16 * 18, 7);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint32_t>(i * i);
    emulated::load<3>(from.data(), 21 * 4);
    emulated::store<3>(to.data(), 18 * 4);
    for (std::size_t r = 0; r < 16; ++r) {
        CHECK(std::equal(to.begin() + static_cast<std::ptrdiff_t>(18 * r),
                         to.begin() + static_cast<std::ptrdiff_t>(18 * r + 16),
                         from.begin() + static_cast<std::ptrdiff_t>(21 * r)));
        CHECK((to[18 * r + 16] == 7 && to[18 * r + 17] == 7));
    }
}

#if defined(__x86_64__)
TEST_CASE("the matrix unit of the machine gives the bits of its emulation", "[simd]") {
    if (!kernel::amx_permission::granted()) {
        WARN("skipped, 1 test of 1: this machine has no matrix unit, or does not let this process use it");
        return;
    }
    using real = kernel::matrix_unit<arch::avx512_amx>;
    testing::dice random(2);
    for (int round = 0; round < 2000; ++round) {
        operands of;
        auto const any = [&] { return static_cast<std::uint16_t>(random.between(0, 65535)); };
        auto const near_one = [&] { return bfloat16(static_cast<float>(random.real(-2, 2))).bits; };
        for (std::size_t i = 0; i < 16; ++i)
            for (std::size_t k = 0; k < 32; ++k) {
                of.a[i][k].bits = round % 2 == 0 ? near_one() : any();
                of.b[i][k].bits = round % 2 == 0 ? near_one() : any();
                if (k < 16) of.c[i][k] = static_cast<float>(random.real(-2, 2));
            }
        CHECK(same(product_by<real>(of), product_by<emulated>(of)));
    }
}

TEST_CASE("a configuration of the matrix unit that stood before a scope stands after it", "[simd]") {
    if (!kernel::amx_permission::granted()) {
        WARN("skipped, 1 test of 1: this machine has no matrix unit, or does not let this process use it");
        return;
    }
    using real = kernel::matrix_unit<arch::avx512_amx>;
    auto const stored = [] {
        kernel::tile_configuration now;
        asm volatile("sttilecfg\t%0" : "=m"(now));
        return now;
    };
    operands ones;
    for (auto& row : ones.a) row.fill(bfloat16(1.0f));
    for (auto& row : ones.b) row.fill(bfloat16(1.0f));
    CHECK(stored() == kernel::tile_configuration{});
    CHECK(product_by<real>(ones)[15][15] == 32);
    CHECK(stored() == kernel::tile_configuration{});
    auto others = kernel::tile_configuration::whole();
    others.rows[0] = others.rows[6] = 8;
    asm volatile("ldtilecfg\t%0" ::"m"(others));
    CHECK(product_by<real>(ones)[15][15] == 32);
    CHECK(stored() == others);
    asm volatile("tilerelease");
    {
        real::scope const outer;
        CHECK(product_by<real>(ones)[15][15] == 32);
        CHECK(stored() == kernel::tile_configuration::whole());
    }
    CHECK(stored() == kernel::tile_configuration{});
}
#endif
