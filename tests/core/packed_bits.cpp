// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Views of bits: each is read where it lies, alone or several at once, and no byte beside those that have them.
#include <fovea/core/memory.hpp>
#include <fovea/core/packed_bits.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/guarded.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace fovea;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::uint8_t> random_bytes(index_t count) {
    testing::dice random(7);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.between(0, 255));
    return bytes;
}
bool bit_at(std::vector<std::uint8_t> const& bytes, index_t i) {
    return bytes[static_cast<std::size_t>(i / 8)] / (1 << i % 8) % 2 == 1;
}

template <index_t N>
void check_at_once(bit_pointer first, index_t last) {
    for (index_t i = 0; i + N <= last; ++i) CHECK((first + i).first<N>() == (first + i).first(N));
}

}  // namespace

TEST_CASE("bits lie one after another, or row by row", "[core]") {
    //! [example]
    std::vector<std::uint8_t> const bytes{0b10110001, 0b00000010};
    auto const together = packed_bits(bytes, {2, 5});          // 10001 and 10101, the least bit first
    auto const by_rows = packed_bits(view(bytes, {2, 1}), 5);  // 10001 and 01000: each row begins in a byte
    auto const strided = packed_bits(bytes, {2, 5}, {8, 1});   // the same
    //! [example]
    bool const first[] = {true, false, false, false, true}, second[] = {true, false, true, false, true},
               third[] = {false, true, false, false, false};
    for (index_t j = 0; j < 5; ++j) {
        CHECK(together(0, j) == first[j]);
        CHECK(by_rows(0, j) == first[j]);
        CHECK(together(1, j) == second[j]);
        CHECK(by_rows(1, j) == third[j]);
        CHECK(strided(1, j) == third[j]);
    }
}

TEST_CASE("a bit is read where its strides say", "[core]") {
    auto const bytes = random_bytes(64);
    auto const check = [&](auto const& bits, extents_t<3> const& strides, index_t from = 0) {
        for (index_t i = 0; i < bits.extent(0); ++i)
            for (index_t j = 0; j < bits.extent(1); ++j)
                for (index_t k = 0; k < bits.extent(2); ++k)
                    CHECK(bits(i, j, k) == bit_at(bytes, from + i * strides[0] + j * strides[1] + k));
    };
    check(packed_bits(bytes, {3, 5, 13}), {65, 13, 1});
    check(packed_bits(bytes, {3, 5, 13}, {7, 101, 1}), {7, 101, 1});
    check(packed_bits(bytes, {3, 5, 13}, {0, 16, 1}), {0, 16, 1});
    check(packed_bits(view(bytes, {2, 4, 3}), 19), {96, 24, 1});
    check(packed_bits(view(bytes.data(), {2, 4, 3}, {30, 7, 1}), 24), {240, 56, 1});
    view<bit const, 3> const backwards(bit_pointer(bytes.data()) + 500, {2, 3, 5}, {-200, -11, 1});
    check(backwards, {-200, -11, 1}, 500);
    CHECK(backwards.place(1, 2, 3) == bit_pointer(bytes.data()) + (500 - 200 - 22 + 3));
    std::vector<std::byte> const others{std::byte{6}};
    CHECK(packed_bits(view(others.data(), {1}), 3)(2));
}

TEST_CASE("several bits at once are those one by one, and no other byte is read", "[core]") {
    for (auto const wall : {guarded<unsigned char>::wall::behind, guarded<unsigned char>::wall::before}) {
        guarded<unsigned char> const bytes(9, 0, wall);
        testing::dice random(3);
        for (auto& byte : bytes) byte = static_cast<unsigned char>(random.between(0, 255));
        bit_pointer const first(bytes.data());
        for (index_t i = 0; i <= 72; ++i)
            for (index_t n = 0; n <= 32 && i + n <= 72; ++n) {
                std::uint32_t expected = 0;
                for (index_t k = 0; k < n; ++k) expected |= std::uint32_t{first[i + k]} << k;
                CHECK((first + i).first(n) == expected);
            }
        check_at_once<2>(first, 72);
        check_at_once<4>(first, 72);
        check_at_once<8>(first, 72);
        check_at_once<16>(first, 72);
    }
}

TEST_CASE("bits that no byte has are refused", "[core]") {
    auto const bytes = random_bytes(10);
    CHECK_NOTHROW(packed_bits(bytes, {8, 10}));
    CHECK_THROWS_WITH(packed_bits(bytes, {9, 9}),
                      "packed_bits: bits of extents (9, 9) with strides (9, 1) reach outside of 10 bytes");
    CHECK_THROWS_WITH(packed_bits(bytes, {2, 8}, {-8, 1}), ContainsSubstring("reach outside of 10 bytes"));
    CHECK_THROWS_AS(packed_bits(bytes, {3, 8}, {index_t{1} << 62, 1}), shape_error);
    CHECK_THROWS_WITH(packed_bits(bytes, {2, 8}, {1, 8}), ContainsSubstring("the last axis must be contiguous"));
    CHECK_NOTHROW(packed_bits(view(bytes, {5, 2}), 16));
    CHECK_THROWS_WITH(packed_bits(view(bytes, {5, 2}), 17), "packed_bits: rows of 2 bytes do not have 17 bits");
    CHECK_THROWS_AS(packed_bits(bytes, -1), shape_error);
    CHECK(packed_bits(std::span<std::uint8_t const>(), {0, 9}).empty());
}

TEST_CASE("bits take the bytes from the first to the last of them", "[core]") {
    auto bytes = random_bytes(64);
    auto const meets = [&](view<bit const, 2> const& bits, index_t at) {
        return detail::shares_elements(detail::region_of(view<std::uint8_t, 1>(bytes.data() + at, {1}), "x"),
                                       detail::region_of(bits, "y"));
    };
    auto const from = [&](index_t first, extents_t<2> const& strides) {
        return view<bit const, 2>(bit_pointer(bytes.data()) + first, {3, 10}, strides);
    };
    for (auto const& strides : {extents_t<2>{10, 1}, {17, 1}, {64, 1}, {-10, 1}, {0, 1}})
        for (index_t first = 160; first < 176; ++first) {
            auto const bits = from(first, strides);
            index_t const ends[] = {first, first + 2 * strides[0]};
            index_t const least = std::min(ends[0], ends[1]) / 8, greatest = (std::max(ends[0], ends[1]) + 9) / 8;
            for (index_t at = 0; at < 64; ++at) CHECK(meets(bits, at) == (least <= at && at <= greatest));
            CHECK_NOTHROW(detail::require_sound(detail::region_of(bits, "x")));
        }
    view<bit const, 2> none;
    none.extents = {2, index_t{1} << 61};
    none.strides = {index_t{1} << 61, 1};
    CHECK_THROWS_WITH(detail::require_sound(detail::region_of(none, "x")), ContainsSubstring("reaches outside"));
    none.strides = {0, 1};
    none.extents = {2, 8};
    CHECK_THROWS_WITH(detail::require_sound(detail::region_of(none, "x")), ContainsSubstring("null pointer"));
}
