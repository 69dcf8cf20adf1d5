// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of keys in blocks of a few bits with queries that are rounded to such blocks, as integers.
#pragma once

#include <fovea/core/blocks.hpp>
#include <fovea/kernel/product/contract_rows.hpp>
#include <fovea/simd/integer_products.hpp>
#include <fovea/simd/simd.hpp>
#include <fovea/simd/unrolled.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>

namespace fovea::FOVEA_SET::kernel {

/// The integers of a block as bytes from 0 on, four features to a word.
///
///     zero<Arch>             the byte that stands for 0
///     load(row, to)          to[j]: features 4 j ... 4 j + 3 of the block row(i), in lane i; j < 8
///     least(block)           the number that the byte 0 stands for, of blocks that store it
template <class Block>
struct block_words;

template <>
struct block_words<q8_0> {
    /// Bytes are unsigned where products ask for it.
    template <class Arch>
    static constexpr int zero = integer_products<Arch>::of_signed ? 0 : 128;

    template <class Arch, class Row>
    FOVEA_INLINE static void load(Row const& row, pack<float, Arch>* to) {
        integer_products<Arch>::template columns<8>([&](index_t i) FOVEA_LAMBDA { return row(i).integers; }, to);
        if constexpr (integer_products<Arch>::of_signed) return;
        unrolled<8>([&](auto j) FOVEA_LAMBDA {
            to[j] = on_words<Arch>(to[j], [](auto const& word) FOVEA_LAMBDA {
                return word ^ std::remove_cvref_t<decltype(word)>(static_cast<std::int32_t>(0x80808080U));
            });
        });
    }
};

/// Of 4 bits.
template <class Block, int Zero>
struct quarter_words {
    template <class Arch>
    static constexpr int zero = Zero;

    template <class Arch, class Row>
    FOVEA_INLINE static void load(Row const& row, pack<float, Arch>* to) {
        integer_products<Arch>::template columns<4>([&](index_t i) FOVEA_LAMBDA { return row(i).pairs; }, to);
        unrolled<4>([&](auto j) FOVEA_LAMBDA {
            auto const quarters = [](auto const& word) FOVEA_LAMBDA {
                return word & std::remove_cvref_t<decltype(word)>(std::int32_t{0x0f0f0f0f});
            };
            using bits = registers<float, Arch>;
            auto const upper = bits::template shift_right<4>(bits::as_integers(to[j].value));
            to[4 + j] = on_words<Arch>(pack<float, Arch>(bits::as_reals(upper)), quarters);
            to[j] = on_words<Arch>(to[j], quarters);
        });
    }
};
template <>
struct block_words<q4_0> : quarter_words<q4_0, 8> {};
template <>
struct block_words<q4_1> : quarter_words<q4_1, 0> {
    FOVEA_INLINE static float16 least(q4_1 const& block) { return block.least; }
};

/// Blocks whose integers are multiplied by those of a rounded query.
template <class Block>
concept block_of_words = requires { block_words<Block>::template zero<arch::best>; };

/// A block of a query, rounded to integers.
///
///     x_i = scale * integer_i,   scale = max |x| / 127
///
/// Rounding: to nearest, halves away from 0; of numbers that are too small for it to 0. Beside infinite numbers, which
/// are 127 steps, others count nothing: scores are infinite, or NaN where keys have a least number. A NaN makes the
/// scale one.
class rounded_query {
public:
    static constexpr index_t size = 32;
    static constexpr index_t words = 8, start = 8, scale = 9, sum = 10, elements = 11;
    /// The packs of a block, which is padded to whole ones.
    template <class Arch>
    static constexpr index_t packs = ceil_div(elements, pack<float, Arch>::lanes);

    /// For keys whose byte `zero` stands for 0.
    rounded_query(float const* from, int zero) {
        float const step = fovea::detail::greatest_distance<size>(from) / 127;
        bool const vanishes = step < std::numeric_limits<float>::min();
        float const factor = vanishes ? 0.0f : std::max(1 / step, std::numeric_limits<float>::min());
        std::array<std::int8_t, std::size_t{size}> integers;
        std::int32_t total = 0;
        for (std::size_t i = 0; i < integers.size(); ++i) {
            float const steps = from[i] * factor, half = std::copysign(0x1.fffffep-2f, steps);
            int const integer = vanishes ? 0 : fovea::detail::whole_steps(steps + half, -127, 127);
            integers[i] = static_cast<std::int8_t>(integer);
            total += integer;
        }
        std::memcpy(element_, integers.data(), integers.size());
        std::int32_t const first = -zero * total;
        std::memcpy(&element_[start], &first, sizeof first);
        element_[scale] = vanishes ? 0.0f : step;
        element_[sum] = element_[scale] * static_cast<float>(total);
    }
    template <class Arch>
    pack<float, Arch> load(index_t p) const {
        return pack<float, Arch>::load(element_ + p * pack<float, Arch>::lanes);
    }

private:
    alignas(64) float element_[16] = {};  // words, what their sum starts with, the scale, scale * sum of integers
};

/// Blocks of keys as they are stored, for queries in integers.
template <class Arch, class Rows>
struct blocks_in_place {
    using products = number_products;
    Rows rows;
};

/// The same for keys in blocks, with queries rounded to blocks of integers: a key is in each lane, and the sums of the
/// products of a block are exact.
///
///     scores[r][k] = sum_b scale_rb scale_kb sum_i q_rbi k_kbi
///
/// Keys are transposed in registers, words of four features each. Layout of queries: (blocks, packs, rows, lanes).
template <int Rows, class T, class Arch, class KeyRows>
[[gnu::noinline]] void contract_rows(blocks_in_place<Arch, KeyRows> const& keys, row_products<T> const& all) {
    using vector = pack<T, Arch>;
    using Block = element_in_place<KeyRows>;
    using words = block_words<Block>;
    using query = rounded_query;
    constexpr int lanes = static_cast<int>(vector::lanes);
    constexpr index_t packs = query::packs<Arch>;
    T const* FOVEA_RESTRICT const queries = all.queries;
    T* FOVEA_RESTRICT const scores = all.scores;
    index_t const rows = all.rows, count = all.count, stride = all.stride, blocks = all.features / query::size;
    for (index_t first = 0; first < count; first += lanes) {
        c_array<Block const*, lanes> at;
        auto const key_at = [&](index_t i) FOVEA_LAMBDA { return std::min(first + i, count - 1); };
        for (index_t i = 0; i < lanes; ++i) at[i] = keys.rows.row(key_at(i));
        index_t const distance = keys.rows.distance(first);
        for (index_t row = 0; row < rows; row += Rows) {
            c_array<vector, Rows> sums;
            unrolled<Rows>([&](auto r) FOVEA_LAMBDA { sums[r] = vector(T{0}); });
            for (index_t b = 0; b < blocks; ++b) {
                auto const block = [&](index_t i) FOVEA_LAMBDA -> Block const& { return at[i][b]; };
                auto const in_lanes = [&](auto const& half) FOVEA_LAMBDA {
                    alignas(64) c_array<float16, lanes> halves;
                    unrolled<lanes>([&](auto i) FOVEA_LAMBDA { halves[i] = half(block(i)); });
                    return storage<float16, T, Arch>::load(halves);
                };
                if (row == 0) unrolled<lanes>([&](auto i) FOVEA_LAMBDA { prefetch_to_l2<1>(&at[i][b] + distance); });
                vector key[query::words];
                words::template load<Arch>(block, key);
                auto const scale = in_lanes([](Block const& of) FOVEA_LAMBDA { return of.scale; });
                unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
                    auto const element = [&](index_t e) FOVEA_LAMBDA {
                        return vector(queries[((b * packs + e / lanes) * rows + row + r) * lanes + e % lanes]);
                    };
                    c_array<vector, 2> sum = {element(query::start), vector(T{0})};  // two chains
                    unrolled<query::words>([&](auto j) FOVEA_LAMBDA {
                        sum[j % 2] = integer_products<Arch>::add_products(key[j], element(j), sum[j % 2]);
                    });
                    sums[r] = fma(numbers_of_sums<Arch>(sum[0], sum[1]) * scale, element(query::scale), sums[r]);
                    if constexpr (requires { words::least(block(0)); })
                        sums[r] = fma(in_lanes([](Block const& of) FOVEA_LAMBDA { return words::least(of); }),
                                      element(query::sum), sums[r]);
                });
            }
            unrolled<Rows>([&](auto r) FOVEA_LAMBDA { sums[r].store(scores + (row + r) * stride + first); });
        }
    }
}

}  // namespace fovea::FOVEA_SET::kernel
