// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set
// Elements of fewer bits as packs of floats and back: the same numbers as one at a time, over all their values.
#include <fovea/simd/simd.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"
#include "support/guarded.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

using namespace fovea;

namespace {

template <class Element>
Element element_of(std::uint32_t bits) {
    if constexpr (requires { Element{}.bits; }) return Element::from_bits(static_cast<decltype(Element{}.bits)>(bits));
    else return static_cast<Element>(bits);
}
template <class Element>
std::uint32_t bits_of(Element x) {
    if constexpr (requires { x.bits; }) return x.bits;
    else return std::bit_cast<std::uint8_t>(x);
}

template <class Element, class Arch>
void check_loads() {
    using pack = kernel::pack<float, Arch>;
    std::vector<Element> from(static_cast<std::size_t>(pack::lanes));
    for (std::uint32_t bits = 0; bits <= 0xffffU; bits += static_cast<std::uint32_t>(pack::lanes)) {
        for (std::uint32_t i = 0; i < from.size(); ++i) from[i] = element_of<Element>(bits + i);
        auto const all =
            kernel::lanes_of<float, Arch>::to_array(kernel::load_as<float, Arch>(from.data(), pack::lanes));
        for (std::size_t i = 0; i < from.size(); ++i) {
            float const one = from[i];
            if (one != one) REQUIRE(all[i] != all[i]);
            else REQUIRE(std::bit_cast<std::uint32_t>(all[i]) == std::bit_cast<std::uint32_t>(one));
        }
    }
}

/// Every number of 16 bits, the middle between it and the next, and what lies to either side of that.
template <class Element, class Arch>
void check_stores() {
    using pack = kernel::pack<float, Arch>;
    constexpr auto lanes = static_cast<std::size_t>(pack::lanes);
    std::vector<float> numbers;
    for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
        float const x = element_of<Element>(bits), next = element_of<Element>(bits + 1);
        auto const middle = static_cast<float>((static_cast<double>(x) + next) / 2);
        for (float each : {x, middle, std::nextafter(middle, x), std::nextafter(middle, next)}) numbers.push_back(each);
    }
    for (float each : {std::numeric_limits<float>::max(), 65519.0f, 65520.0f, 1e-40f, -1e-40f}) numbers.push_back(each);
    numbers.resize(numbers.size() / lanes * lanes + lanes, -0.0f);
    std::vector<Element> to(lanes);
    for (std::size_t first = 0; first < numbers.size(); first += to.size()) {
        kernel::store_as<float, Arch>(pack::load(numbers.data() + first), to.data(), pack::lanes);
        for (std::size_t i = 0; i < to.size(); ++i) {
            float const x = numbers[first + i], stored = to[i];
            if (x != x) REQUIRE(stored != stored);
            else REQUIRE(bits_of(to[i]) == bits_of(Element(x)));
        }
    }
}

template <class Element, class T, class Arch>
void check_ends() {
    using pack = kernel::pack<T, Arch>;
    for (index_t n = 0; n <= pack::lanes + 1; ++n)
        for (auto wall : {guarded<Element>::wall::behind, guarded<Element>::wall::before}) {
            guarded<Element> from(n, static_cast<Element>(7), wall), to(n, static_cast<Element>(0), wall);
            auto const loaded = kernel::load_as<T, Arch>(from.data(), n);
            auto const all = kernel::lanes_of<T, Arch>::to_array(loaded);
            for (index_t i = 0; i < pack::lanes; ++i) CHECK(all[static_cast<std::size_t>(i)] == (i < n ? T{7} : T{0}));
            kernel::store_as<T, Arch>(loaded, to.data(), n);
            for (index_t i = 0; i < std::min(n, pack::lanes); ++i) CHECK(static_cast<T>(to[i]) == T{7});
        }
}

template <class F>
void for_each_width(F f) {
    std::apply([&](auto... arch) { (f(arch), ...); }, lane_widths{});
}

/// Rows of blocks that end where memory ends, whatever their bytes are.
template <class Block, class T, class Arch>
void check_blocks() {
    using blocks = kernel::block_storage<Block, T, Arch>;
    constexpr index_t lanes = kernel::pack<T, Arch>::lanes, features = 3 * Block::size;
    testing::dice random(7);
    guarded<Block> const row(3);
    for (int trial = 0; trial < 50; ++trial) {
        for (auto& block : row) {
            for (unsigned char& byte : std::span(reinterpret_cast<unsigned char*>(&block), sizeof block))
                byte = static_cast<unsigned char>(random.between(0, 255));
            if (!block.finite()) block = Block{};
        }
        auto const check = [&](index_t f, kernel::pack<T, Arch> const& got) {
            auto const lane = kernel::lanes_of<T, Arch>::to_array(got);
            for (index_t i = 0; i < lanes; ++i) {
                double const exact = row[(f + i) / Block::size].number((f + i) % Block::size);
                CHECK(lane[static_cast<std::size_t>(i)] == Approx(exact).epsilon(1e-6));
            }
        };
        for (index_t f = 0; f < features; f += lanes) check(f, blocks::load(row.data(), f));
        if constexpr (kernel::loads_whole_blocks<Block, T, Arch>)
            for (index_t b = 0; b < features / Block::size; ++b) {
                kernel::pack<T, Arch> all[blocks::packs];
                blocks::load_all(row[b], all);
                for (int p = 0; p < blocks::packs; ++p) check(b * Block::size + p * lanes, all[p]);
            }
    }
}

}  // namespace

TEST_CASE("packs of numbers of blocks are read as each number is, and nothing behind the last block", "[kernel]") {
    for_each_width([]<class Arch>(Arch) {
        check_blocks<q8_0, float, Arch>();
        check_blocks<q4_0, float, Arch>();
        check_blocks<q4_1, float, Arch>();
        check_blocks<q4_1, double, Arch>();
    });
}

TEST_CASE("a pack of 16-bit or 8-bit numbers is read as each one is", "[kernel]") {
    for_each_width([]<class Arch>(Arch) {
        check_loads<bfloat16, Arch>();
        check_loads<float16, Arch>();
        check_loads<std::int8_t, Arch>();
        check_loads<fp8_e4m3, Arch>();
        check_loads<fp8_e5m2, Arch>();
    });
}

TEST_CASE("a pack is rounded to 16 bits as each number is", "[kernel]") {
    for_each_width([]<class Arch>(Arch) {
        check_stores<bfloat16, Arch>();
        check_stores<float16, Arch>();
        check_stores<fp8_e4m3, Arch>();
        check_stores<fp8_e5m2, Arch>();
    });
}

TEST_CASE("nothing past the last element is read or written", "[kernel]") {
    for_each_width([]<class Arch>(Arch) {
        check_ends<bfloat16, float, Arch>();
        check_ends<float16, float, Arch>();
        check_ends<std::int8_t, float, Arch>();
        check_ends<fp8_e4m3, float, Arch>();
        check_ends<fp8_e5m2, double, Arch>();
        check_ends<float, float, Arch>();
        check_ends<bfloat16, double, Arch>();
        check_ends<float, double, Arch>();
    });
}
