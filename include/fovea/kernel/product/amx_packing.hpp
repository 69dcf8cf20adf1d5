// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How operands of bfloat16 lie for the products of a matrix unit.
#pragma once

#include <fovea/kernel/product/bf16_product.hpp>
#include <fovea/simd/matrix_unit.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace fovea::FOVEA_SET::kernel {

/// Queries as pairs of features, keys as they are or copied with zeros after them, values transposed in tiles.
template <class T, class Arch>
struct amx_packing {
    using element = bfloat16;
    using vector = pack<T, Arch>;
    static constexpr index_t side = tile_rows_of_unit,
                             elements = tile_row_bytes / static_cast<index_t>(sizeof(element));

    /// Queries as pairs of features, a query in each lane, with zeros up to whole tiles. Factors that are all powers of
    /// two up to 1 are applied to them, exactly, and are 1 then.
    template <class Rows>
    static void pack_queries(Rows const& row, T* scales, transpose_target<T> const& destination) {
        transpose_bf16_pairs<Arch>(row, destination);
        T* const to = destination.first;
        index_t const width = destination.stride, pairs = bf16_pair_count(destination.features),
                      padded = round_up(destination.features, elements) / 2;
        std::fill_n(to + pairs * width, (padded - pairs) * width, T{0});
        if (!std::all_of(scales, scales + width, is_power_of_two)) return;
        for (index_t p = 0; p < pairs; ++p)
            for (index_t lane = 0; lane < width; lane += side) {
                T* const at = to + p * width + lane;
                scaled_pairs(vector::load(at), vector::load(scales + lane)).store(at);
            }
        std::fill_n(scales, width, T{1});
    }

    /// One row of a key, with zeros up to `stride` elements.
    static void copy_key(element const* row, index_t features, element* to, index_t stride) {
        std::fill_n(std::copy_n(row, features, to), stride - features, element{});
    }

    /// Values transposed: tiles of 16 features by 32 keys, (keys / 32, round_up(features, 32) / 16, 16, 32), with zeros
    /// for keys and features that do not exist. `row(k)` points to the value of a key.
    template <class Rows>
    static void pack_values(Rows const& row, index_t count, index_t features, element* to) {
        for (index_t k = 0; k < count; k += elements)
            for (index_t f = 0; f < features; f += elements, to += 2 * side * elements) {
                vector pairs[2][side];
                for (index_t p = 0; p < side; ++p) {
                    auto const load = [&](index_t key) FOVEA_LAMBDA {
                        return key < count ? load_bf16_pairs<Arch>(row(key) + f, features - f) : vector(T{0});
                    };
                    vector both[2];
                    bf16_pairs<Arch>::interleaved(load(k + 2 * p), load(k + 2 * p + 1), both);
                    for (index_t half = 0; half < 2; ++half) pairs[half][p] = both[half];
                }
                for (index_t half = 0; half < 2; ++half) {
                    lanes_of<T, Arch>::transpose(pairs[half]);
                    for (index_t r = 0; r < side; ++r)
                        pairs[half][r].store(reinterpret_cast<T*>(to + (half * side + r) * elements));
                }
            }
    }
    /// A number of packed values, `width` elements for each key.
    static T value_at(element const* packed, index_t width, index_t key, index_t feature) {
        index_t const tile = key / elements * (width / side) + feature / side;
        return static_cast<T>(packed[(tile * side + feature % side) * elements + key % elements]);
    }

    /// The lower and the upper numbers of pairs.
    FOVEA_INLINE static vector lower(vector const& pairs) {
        return {bits::as_reals(bits::template shift_left<16>(bits::as_integers(pairs.value)))};
    }
    FOVEA_INLINE static vector upper(vector const& pairs) {
        auto const shifted = bits::template shift_right<16>(bits::as_integers(pairs.value));
        return {bits::as_reals(bits::template shift_left<16>(shifted))};
    }
    /// What a part leaves of a weight: nothing of one that is not finite.
    FOVEA_INLINE static vector remainder(vector const& weight, vector const& part) {
        auto const rest = weight - part;
        return select(rest == rest, rest, vector(T{0}));
    }

private:
    using bits = registers<T, Arch>;

    static bool is_power_of_two(T x) { return x > 0 && x <= 1 && (std::bit_cast<std::uint32_t>(x) & 0x7fffffU) == 0; }
    /// Pairs times the factor of each lane, if the products are numbers of as many bits.
    FOVEA_INLINE static vector scaled_pairs(vector const& pairs, vector const& factor) {
        return bf16_pairs<Arch>::paired(lower(pairs) * factor, upper(pairs) * factor);
    }
};

}  // namespace fovea::FOVEA_SET::kernel
