// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How operands lie for the products of a matrix unit: as bfloat16, each number as one part or several.
#pragma once

#include <fovea/kernel/product/bf16_parts.hpp>
#include <fovea/kernel/product/bf16_product.hpp>
#include <fovea/simd/matrix_unit.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace fovea::FOVEA_SET::kernel {

/// Queries as pairs of features, keys as they are or copied with zeros after them, values transposed in tiles. Numbers
/// of more than one part are in several planes: the first parts of all in the first.
template <class T, class Arch, class Parts>
struct amx_packing {
    using element = bfloat16;
    using vector = pack<T, Arch>;
    static constexpr index_t side = tile_rows_of_unit,
                             elements = tile_row_bytes / static_cast<index_t>(sizeof(element));
    static_assert(vector::lanes == side);

    /// Queries as pairs of features, a query in each lane, with zeros up to whole tiles: (parts, pairs, width). Factors
    /// that are all powers of two up to 1 are applied to them, exactly, and are 1 then.
    template <class Rows>
    static void pack_queries(Rows const& row, T* scales, transpose_target<T> const& destination) {
        index_t const width = destination.stride, padded = round_up(destination.features, elements) / 2;
        bool const scales_now = std::all_of(scales, scales + width, is_power_of_two);
        if constexpr (is_element<decltype(*row(0))>) {
            transpose_bf16_pairs<Arch>(row, destination);
            index_t const pairs = bf16_pair_count(destination.features);
            std::fill_n(destination.first + pairs * width, (padded - pairs) * width, T{0});
            for (index_t p = 0; p < (scales_now ? pairs : 0); ++p)
                for (index_t lane = 0; lane < width; lane += side) {
                    T* const at = destination.first + p * width + lane;
                    scaled_pairs(vector::load(at), vector::load(scales + lane)).store(at);
                }
        } else {
            for (index_t lane = 0; lane < width; lane += side)
                for (index_t f = 0; f < destination.features; f += elements) {
                    auto const factor = scales_now ? vector::load(scales + lane) : vector(T{1});
                    split_queries(row, lane, f, factor, padded * width, destination);
                }
        }
        if (scales_now) std::fill_n(scales, width, T{1});
    }

    /// One row of a key, with zeros up to `stride` elements: (parts, features).
    template <class Element>
    static void copy_key(Element const* row, index_t features, element* to, index_t stride) {
        index_t const plane = stride / Parts::key;
        if constexpr (is_element<Element>) std::fill_n(std::copy_n(row, features, to), plane - features, element{});
        else
            for (index_t f = 0; f < plane; f += elements)
                bf16_parts<T, Arch, Parts::key>::split_row(row + f, features - f, to + f, plane);
    }

    /// Copies of keys are followed by zeros up to whole tiles.
    static void end_keys(element* copies, index_t count, index_t stride) {
        std::fill_n(copies + count * stride, (round_up(count, elements) - count) * stride, element{});
    }

    /// Values transposed: tiles of 16 features by 32 keys, (keys / 32, parts, round_up(features, 32) / 16, 16, 32),
    /// with zeros for keys and features that do not exist. `row(k)` points to the value of a key.
    template <class Rows>
    static void pack_values(Rows const& row, index_t count, index_t features, element* to) {
        index_t const plane = round_up(features, elements) * elements;
        for (index_t k = 0; k < count; k += elements, to += Parts::value * plane)
            for (index_t f = 0; f < features; f += elements)
                if constexpr (is_element<decltype(*row(0))>)
                    pack_elements(row, k, count, f, features, to + f * elements);
                else
                    for (index_t half = f; half < f + elements; half += side)
                        split_values(row, k, count, half, features, to + half * elements, plane);
    }
    /// A number of packed values, `width` elements for each key.
    static T value_at(element const* packed, index_t width, index_t key, index_t feature) {
        T sum{0};
        for (index_t part = 0; part < Parts::value; ++part) {
            index_t const tile =
                (key / elements * Parts::value + part) * (width / Parts::value / side) + feature / side;
            sum += static_cast<T>(packed[(tile * side + feature % side) * elements + key % elements]);
        }
        return sum;
    }

private:
    template <class Element>
    static constexpr bool is_element = std::is_same_v<std::remove_cvref_t<Element>, element>;
    using split = bf16_parts<T, Arch, 1>;

    static bool is_power_of_two(T x) { return x > 0 && x <= 1 && (std::bit_cast<std::uint32_t>(x) & 0x7fffffU) == 0; }
    /// Pairs times the factor of each lane, if the products are numbers of as many bits.
    FOVEA_INLINE static vector scaled_pairs(vector const& pairs, vector const& factor) {
        return bf16_pairs<Arch>::paired(split::lower(pairs) * factor, split::upper(pairs) * factor);
    }

    /// Up to 32 features of 16 queries.
    template <class Rows>
    static void split_queries(Rows const& row, index_t first, index_t feature, vector const& factor, index_t plane,
                              transpose_target<T> const& to) {
        alignas(64) c_array<T, elements * side> columns = {};
        transpose_rows<T, Arch>(
            [&](index_t i, index_t f, index_t left)
                FOVEA_LAMBDA { return load_as<T, Arch>(row(std::min(first + i, to.count - 1)) + feature + f, left); },
            [] {}, [&](vector const& column) FOVEA_LAMBDA { return column * factor; },
            std::min(to.features - feature, elements), &columns[0], side);
        for (index_t f = 0; f < elements; f += 2) {
            T* const at = to.first + (feature + f) / 2 * to.stride + first;
            bf16_parts<T, Arch, Parts::query>::split(
                vector::load(&columns[f * side]), vector::load(&columns[(f + 1) * side]),
                [&](auto part, vector const& pairs) FOVEA_LAMBDA { pairs.store(at + part() * plane); });
        }
    }

    /// Two tiles, of 32 features of elements as they are.
    template <class Rows>
    static void pack_elements(Rows const& row, index_t k, index_t count, index_t f, index_t features, element* to) {
        vector pairs[2][side];
        for (index_t p = 0; p < side; ++p) {
            auto const load = [&](index_t key) FOVEA_LAMBDA {
                return key < count ? load_bf16_pairs<Arch>(row(key) + f, features - f) : vector(T{0});
            };
            vector both[2];
            bf16_pairs<Arch>::interleaved(load(k + 2 * p), load(k + 2 * p + 1), both);
            for (index_t half = 0; half < 2; ++half) pairs[half][p] = both[half];
        }
        for (index_t half = 0; half < 2; ++half) store_transposed(pairs[half], to + half * side * elements);
    }
    /// One tile of each part, of 16 features.
    template <class Rows>
    static void split_values(Rows const& row, index_t k, index_t count, index_t f, index_t features, element* to,
                             index_t plane) {
        vector pairs[Parts::value][side];
        auto const load = [&](index_t key) FOVEA_LAMBDA {
            return key < count && f < features ? load_as<T, Arch>(row(key) + f, features - f) : vector(T{0});
        };
        for (index_t p = 0; p < side; ++p)
            bf16_parts<T, Arch, Parts::value>::split(load(k + 2 * p), load(k + 2 * p + 1),
                                                     [&](auto part, vector const& both)
                                                         FOVEA_LAMBDA { pairs[part()][p] = both; });
        for (index_t part = 0; part < Parts::value; ++part) store_transposed(pairs[part], to + part * plane);
    }
    static void store_transposed(vector (&pairs)[side], element* to) {
        lanes_of<T, Arch>::transpose(pairs);
        for (index_t r = 0; r < side; ++r) bf16_pairs<Arch>::store(pairs[r], to + r * elements);
    }
};

}  // namespace fovea::FOVEA_SET::kernel
