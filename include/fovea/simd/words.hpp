// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of bfloat16 numbers two at a time, summed in float, where an architecture has them.
#pragma once

#include <fovea/simd/storage.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>

namespace fovea::FOVEA_SET::kernel {

/// What an architecture does with words: packs of float whose lanes hold two neighbouring bfloat16 each, the first in
/// the lower half. Words are moved as floats are, and never computed with.
///
///     load(from)                 two packs of elements as words
///     load(from, n)              the first n elements, zeros behind them
///     rounded(low, high)         two packs of numbers as words
///     interleaved(a, b, words)   a in the lower halves of words[0] and then words[1], b in the upper ones
///     add_products(a, b, sum)    sum + a.low b.low + a.high b.high; numbers below the normal range count as 0
template <class Arch>
struct word_arithmetic;

/// True where elements of these types are multiplied as they are stored.
template <class T, class Arch, class... Elements>
inline constexpr bool multiplies_stored =
    arch::multiplies_bfloat16<Arch> && std::is_same_v<T, float> && (std::is_same_v<Elements, bfloat16> && ...);

/// What one step of a sum of products does with numbers, and with words.
struct number_products {
    static constexpr bool scales = false;
    template <class V>
    FOVEA_INLINE static V add(V const& a, V const& b, V const& sum) {
        return fma(a, b, sum);
    }
    template <class V>
    FOVEA_INLINE V operator()(V const& sum, V const& a, V const& b) const {
        return add(a, b, sum);
    }
};
struct word_products {
    static constexpr bool scales = true;  // words cannot carry a factor
    template <class V>
    FOVEA_INLINE static V add(V const& a, V const& b, V const& sum) {
        return word_arithmetic<typename V::architecture>::add_products(a, b, sum);
    }
    template <class V>
    FOVEA_INLINE V operator()(V const& sum, V const& a, V const& b) const {
        return add(a, b, sum);
    }
};

/// The words of so many features.
constexpr index_t words_of(index_t features) { return (features + 1) / 2; }

template <class Arch>
FOVEA_INLINE pack<float, Arch> load_words(bfloat16 const* from, index_t n) {
    if (n >= 2 * pack<float, Arch>::lanes) return word_arithmetic<Arch>::load(from);
    return word_arithmetic<Arch>::load(from, std::max<index_t>(n, 0));
}

/// Two rows of elements as one of words, whose halves are of the one and of the other; n elements exist in each. Zeros
/// stand for a second row that does not exist.
template <class Arch>
FOVEA_INLINE void interleave_rows(bfloat16 const* low, bfloat16 const* high, index_t n, float* to) {
    using vector = pack<float, Arch>;
    for (index_t c = 0; c < n; c += 2 * vector::lanes) {
        vector words[2];
        auto const upper = high ? load_words<Arch>(high + c, n - c) : vector(0.0f);
        word_arithmetic<Arch>::interleaved(load_words<Arch>(low + c, n - c), upper, words);
        words[0].store(to + c);
        if (c + vector::lanes < n) words[1].store(to + c + vector::lanes);
    }
}

/// n packs of numbers as words in the same place; of an odd number the last has a neighbour that may be anything.
template <class Arch>
FOVEA_INLINE void round_to_words(float* row, index_t packs) {
    using vector = pack<float, Arch>;
    for (index_t p = 0; p < packs; p += 2)
        word_arithmetic<Arch>::rounded(vector::load(row + p * vector::lanes),
                                       vector::load(row + (p + 1) * vector::lanes))
            .store(row + p / 2 * vector::lanes);
}

/// The same on arrays, for vectors as wide and as many as those that have it.
template <>
struct word_arithmetic<arch::emulated<64, 32>> {
    using vector = pack<float, arch::emulated<64, 32>>;

    static vector load(bfloat16 const* from) { return load(from, 2 * vector::lanes); }
    static vector load(bfloat16 const* from, index_t n) {
        return each([&](std::size_t i) {
            auto const bits = [&](std::size_t at) {
                return static_cast<index_t>(at) < n ? from[at].bits : std::uint16_t{0};
            };
            return word(bits(2 * i), bits(2 * i + 1));
        });
    }
    static vector rounded(vector const& low, vector const& high) {
        return each([&](std::size_t i) {
            auto const& half = (i < 8 ? low : high).value.lane;
            return word(bfloat16(half[2 * i % 16]).bits, bfloat16(half[2 * i % 16 + 1]).bits);
        });
    }
    static void interleaved(vector const& a, vector const& b, vector (&words)[2]) {
        for (std::size_t w = 0; w < 2; ++w)
            words[w] = each([&](std::size_t i) {
                auto const half = [&](vector const& x) {
                    auto const bits = std::bit_cast<std::uint32_t>(x.value.lane[w * 8 + i / 2]);
                    return static_cast<std::uint16_t>(bits >> (i % 2 * 16));
                };
                return word(half(a), half(b));
            });
    }
    static vector add_products(vector const& a, vector const& b, vector const& sum) {
        return each([&](std::size_t i) {
            auto const x = std::bit_cast<std::uint32_t>(a.value.lane[i]),
                       y = std::bit_cast<std::uint32_t>(b.value.lane[i]);
            auto const number = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
            return sum.value.lane[i] + number(x << 16) * number(y << 16)
                 + number(x & 0xffff0000U) * number(y & 0xffff0000U);
        });
    }

private:
    static float word(std::uint16_t low, std::uint16_t high) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(high) << 16 | low);
    }
    template <class F>
    static vector each(F const& f) {
        vector r;
        for (std::size_t i = 0; i < 16; ++i) r.value.lane[i] = f(i);
        return r;
    }
};

}  // namespace fovea::FOVEA_SET::kernel

#include <fovea/simd/arch/avx512_words.hpp>
