// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of a few bits: the bytes of their formats, and what is lost where numbers are rounded to them.
#include <fovea/core/blocks.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

using namespace fovea;

namespace {

using numbers = std::array<float, 32>;

template <class Block>
numbers numbers_of(Block const& block) {
    numbers all;
    block.numbers(all.data());
    for (index_t i = 0; i < 32; ++i) CHECK(all[static_cast<std::size_t>(i)] == block.number(i));
    return all;
}

/// A block of bytes, as a file or another program has them.
template <class Block>
Block of_bytes(std::array<unsigned char, sizeof(Block)> const& bytes) {
    Block block;
    std::memcpy(&block, bytes.data(), sizeof block);
    return block;
}

/// Of random numbers: each is off by no more than `steps` steps of its block, whose step is `step(numbers)`; a scale
/// that is a subnormal float16 is rounded by up to 2^-25.
template <class Block, class Step>
void check_rounding(double steps, Step const& step) {
    testing::dice random(1);
    for (int trial = 0; trial < 300; ++trial) {
        numbers x;
        double const size = std::exp2(random.between(-12, 12));
        for (float& each : x) each = static_cast<float>(size * random.real(-1, trial % 3 == 0 ? 0.1 : 1));
        auto const block = Block::rounded(x.data());
        CHECK(block.finite());
        auto const got = numbers_of(block);
        for (std::size_t i = 0; i < 32; ++i) CHECK(std::abs(got[i] - x[i]) <= steps * step(x) + 128 * 0x1p-25);
    }
    numbers const zeros{};
    CHECK(numbers_of(Block::rounded(zeros.data())) == zeros);
}

}  // namespace

TEST_CASE("blocks have the bytes of their formats", "[core]") {
    auto const in_memory = [](std::uint16_t half, int byte) {  // in the order of the processor
        return std::bit_cast<std::array<unsigned char, 2>>(half)[static_cast<std::size_t>(byte)];
    };
    auto const half = [&](int byte) { return in_memory(0x3800, byte); };
    auto const two = [&](int byte) { return in_memory(0x4000, byte); };
    auto const minus_one = [&](int byte) { return in_memory(0xbc00, byte); };
    std::array<unsigned char, 34> eight{half(0), half(1), 127, 0x81};  // the scale 0.5, then 127, -127, 0, ...
    auto const of_8 = numbers_of(of_bytes<q8_0>(eight));
    CHECK(of_8[0] == 63.5f);
    CHECK(of_8[1] == -63.5f);
    CHECK(of_8[31] == 0);
    std::array<unsigned char, 18> four{two(0), two(1), 0xf0,
                                       0x08};  // 2; the lower quarters 0, 8, 0, ..., the upper 15, 0
    auto const of_4 = numbers_of(of_bytes<q4_0>(four));
    CHECK(of_4[0] == -16);
    CHECK(of_4[16] == 14);
    CHECK(of_4[1] == 0);
    CHECK(of_4[17] == -16);
    std::array<unsigned char, 20> least{two(0), two(1), minus_one(0), minus_one(1), 0xf0, 0x08};  // 2, -1
    auto const of_least = numbers_of(of_bytes<q4_1>(least));
    CHECK(of_least[0] == -1);
    CHECK(of_least[16] == 29);
    CHECK(of_least[1] == 15);
}

TEST_CASE("numbers are rounded to the nearest of their block", "[core]") {
    auto const most = [](numbers const& x) {
        float greatest = 0;
        for (float each : x) greatest = std::max(greatest, std::abs(each));
        return greatest;
    };
    // Half a step, and what rounding the scale to 11 bits moves the farthest number by; of 4 bits the side across from
    // the farthest number has one step less, and is cut there.
    check_rounding<q8_0>(0.5 + 127 * 0x1p-11, [&](numbers const& x) { return most(x) / 127; });
    check_rounding<q4_0>(1 + 8 * 0x1p-11, [&](numbers const& x) { return most(x) / 8; });
    check_rounding<q4_1>(0.5 + 0.02, [&](numbers const& x) {
        auto const [low, high] = std::minmax_element(x.begin(), x.end());
        return (*high - *low) / 15 + std::abs(*low) * 0x1p-11;
    });
}

TEST_CASE("halves of a step go away from 0, and the first of two that are farthest gives the sign", "[core]") {
    numbers halves{127, 0.5f, -0.5f, 1.5f, -2.5f, 0x1.fffffep-2f, 63.5f, -126.5f};
    q8_0 const eight = q8_0::rounded(halves.data());
    CHECK(eight.scale == 1.0f);
    int const expected[] = {127, 1, -1, 2, -3, 0, 64, -127, 0};
    for (std::size_t i = 0; i < 9; ++i) CHECK(eight.integers[i] == expected[i]);
    for (float const sign : {1.0f, -1.0f}) {
        numbers tie{};
        tie[5] = sign * 8;
        tie[9] = -tie[5];
        CHECK(q4_0::rounded(tie.data()).scale == -sign);
    }
}

TEST_CASE("a number that is not finite makes its block not finite", "[core]") {
    float const infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for (float const x : {infinity, -infinity, nan, -nan, 1e30f})
        for (std::size_t at = 0; at < 32; ++at) {
            numbers all{1, -2};
            all[at] = x;
            CHECK_FALSE(q8_0::rounded(all.data()).finite());
            CHECK_FALSE(q4_0::rounded(all.data()).finite());
            CHECK_FALSE(q4_1::rounded(all.data()).finite());
        }
}

TEST_CASE("rounding to blocks again changes nothing", "[core]") {
    testing::dice random(4);
    for (int trial = 0; trial < 100; ++trial) {
        numbers x;
        for (float& each : x) each = static_cast<float>(random.real(-3, 3));
        auto const once = numbers_of(q8_0::rounded(x.data())), twice = numbers_of(q8_0::rounded(once.data()));
        for (std::size_t i = 0; i < 32; ++i) CHECK(twice[i] == Approx(once[i]).epsilon(1e-3));
    }
}

TEST_CASE("a block with a scale that is no number is not finite", "[core]") {
    for (auto const bits : {0x7c00, 0xfc00, 0x7e01}) {
        q8_0 eight{};
        q4_0 four{};
        q4_1 scale{}, least{};
        eight.scale = four.scale = scale.scale = least.least = float16::from_bits(static_cast<std::uint16_t>(bits));
        CHECK_FALSE(eight.finite());
        CHECK_FALSE(four.finite());
        CHECK_FALSE(scale.finite());
        CHECK_FALSE(least.finite());
    }
}
