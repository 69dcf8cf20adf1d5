// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of bfloat16 numbers two at a time, summed in float, where an architecture has an instruction for them.
#pragma once

#include <fovea/simd/storage.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>

namespace fovea::FOVEA_SET::kernel {

/// Packs of pairs: each 32-bit lane holds two neighbouring bfloat16, the first in its lower half. The type is a pack of
/// float, since pairs are loaded, stored and broadcast as floats are; add_products alone computes with them.
///
///     load(from)                 2 * lanes elements as pairs
///     load(from, n)              the first n elements, zeros after them
///     store(pairs, to)           2 * lanes elements
///     rounded(low, high)         two packs of floats, rounded to bfloat16, as pairs
///     paired(low, high)          two packs of floats, rounded: low in the lower halves, high in the upper ones
///     interleaved(a, b, pairs)   a in the lower halves of pairs[0] and then pairs[1], b in the upper ones
///     add_products(a, b, sum)    sum + a.low b.low + a.high b.high; subnormal numbers count as 0
///     scope, where it has one    stands in each task while products are computed
template <class Arch>
struct bf16_pairs;

/// The number of pairs that hold these features; a last one without a partner is paired with zero.
constexpr index_t bf16_pair_count(index_t features) { return ceil_div(features, 2); }

/// The first n of 2 * lanes elements as pairs, zeros after them; all where n is larger, none where it is negative.
template <class Arch>
FOVEA_INLINE pack<float, Arch> load_bf16_pairs(bfloat16 const* from, index_t n) {
    if (n >= 2 * pack<float, Arch>::lanes) return bf16_pairs<Arch>::load(from);
    return bf16_pairs<Arch>::load(from, std::max<index_t>(n, 0));
}

/// Two rows of n elements as one row of n pairs: to[c] = (low[c], high[c]). A null second row counts as zeros.
template <class Arch>
FOVEA_INLINE void interleave_rows(bfloat16 const* low, bfloat16 const* high, index_t n, float* to) {
    using vector = pack<float, Arch>;
    for (index_t c = 0; c < n; c += 2 * vector::lanes) {
        vector pairs[2];
        auto const upper = high ? load_bf16_pairs<Arch>(high + c, n - c) : vector(0.0f);
        bf16_pairs<Arch>::interleaved(load_bf16_pairs<Arch>(low + c, n - c), upper, pairs);
        pairs[0].store(to + c);
        if (c + vector::lanes < n) pairs[1].store(to + c + vector::lanes);
    }
}

/// Rounds a row of packs of floats to pairs, in place. Of an odd number of packs, the one after the last is read too,
/// and the pairs made of it are unspecified.
template <class Arch>
FOVEA_INLINE void round_to_bf16_pairs(float* row, index_t packs) {
    using vector = pack<float, Arch>;
    for (index_t p = 0; p < packs; p += 2)
        bf16_pairs<Arch>::rounded(vector::load(row + p * vector::lanes), vector::load(row + (p + 1) * vector::lanes))
            .store(row + p / 2 * vector::lanes);
}

/// Products of pairs on arrays, for the emulation of the architecture that has them: like those of a unit that has to
/// be configured, they are NaN outside one scope of their thread.
template <bool Matrix_unit>
struct bf16_pairs<arch::emulated<64, 32, Matrix_unit>> {
    using vector = pack<float, arch::emulated<64, 32, Matrix_unit>>;

    class scope {
    public:
        scope() { ++entered(); }
        ~scope() { --entered(); }
        scope(scope const&) = delete;
        scope& operator=(scope const&) = delete;
    };

    static vector load(bfloat16 const* from) { return load(from, 2 * vector::lanes); }
    static vector load(bfloat16 const* from, index_t n) {
        return each([&](std::size_t i) {
            auto const bits = [&](std::size_t at) {
                return static_cast<index_t>(at) < n ? from[at].bits : std::uint16_t{0};
            };
            return pair(bits(2 * i), bits(2 * i + 1));
        });
    }
    static void store(vector const& pairs, bfloat16* to) {
        std::memcpy(static_cast<void*>(to), &pairs.value.lane, sizeof pairs.value.lane);
    }
    static vector rounded(vector const& low, vector const& high) {
        return each([&](std::size_t i) {
            auto const& half = (i < 8 ? low : high).value.lane;
            return pair(bfloat16(half[2 * i % 16]).bits, bfloat16(half[2 * i % 16 + 1]).bits);
        });
    }
    static vector paired(vector const& low, vector const& high) {
        return each(
            [&](std::size_t i) { return pair(bfloat16(low.value.lane[i]).bits, bfloat16(high.value.lane[i]).bits); });
    }
    static void interleaved(vector const& a, vector const& b, vector (&pairs)[2]) {
        for (std::size_t p = 0; p < 2; ++p)
            pairs[p] = each([&](std::size_t i) {
                auto const half = [&](vector const& x) {
                    auto const bits = std::bit_cast<std::uint32_t>(x.value.lane[p * 8 + i / 2]);
                    return static_cast<std::uint16_t>(bits >> (i % 2 * 16));
                };
                return pair(half(a), half(b));
            });
    }
    static vector add_products(vector const& a, vector const& b, vector const& sum) {
        if (entered() != 1) return vector(std::numeric_limits<float>::quiet_NaN());
        return each([&](std::size_t i) {
            auto const x = std::bit_cast<std::uint32_t>(a.value.lane[i]),
                       y = std::bit_cast<std::uint32_t>(b.value.lane[i]);
            auto const number = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
            return sum.value.lane[i] + number(x << 16) * number(y << 16)
                 + number(x & 0xffff0000U) * number(y & 0xffff0000U);
        });
    }

private:
    static int& entered() {
        thread_local int scopes = 0;
        return scopes;
    }
    static float pair(std::uint16_t low, std::uint16_t high) {
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
