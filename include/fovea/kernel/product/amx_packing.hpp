// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packing for a matrix unit: numbers as sums of bfloat16, and in which order their products are taken.
#pragma once

#include <fovea/kernel/product/bf16_product.hpp>
#include <fovea/plan/blocking.hpp>
#include <fovea/simd/matrix_unit.hpp>
#include <fovea/simd/simd.hpp>
#include <fovea/simd/unrolled.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace fovea::FOVEA_SET::kernel {

/// Two packs of numbers as pairs of bfloat16: the greatest part first, and then of what is left.
///
/// The parts of a finite number are finite, and as many as hold its bits add up to it, but for parts below 2^-126,
/// which count as 0. A number that is not finite is its first part, and the others are 0.
template <class T, class Arch, int Parts>
struct bf16_parts {
    using vector = pack<T, Arch>;
    using pairs = bf16_pairs<Arch>;
    static constexpr index_t lanes = vector::lanes;

    /// Calls store(part, pairs). Nothing is done for the greatest numbers, whose first part is infinite, and for those
    /// that are not finite: what a first part leaves of these is no number.
    template <class Store>
    FOVEA_INLINE static void split_unprotected(vector low, vector high, Store const& store) {
        unrolled<Parts>([&](auto part) FOVEA_LAMBDA {
            auto const both = pairs::paired(low, high);
            store(part, both);
            if constexpr (part() + 1 < Parts) {
                low = low - lower(both);
                high = high - upper(both);
            }
        });
    }
    /// The same of any numbers.
    template <class Store>
    FOVEA_INLINE static void split(vector const& low, vector const& high, Store const& store) {
        std::integral_constant<int, 0> const first_part;
        if constexpr (Parts == 1) {
            store(first_part, pairs::paired(low, high));
        } else {
            auto const first = pairs::paired(bounded(low), bounded(high));
            store(first_part, first);
            bf16_parts<T, Arch, Parts - 1>::split_unprotected(
                rest(low, lower(first)), rest(high, upper(first)), [&](auto part, vector const& both) FOVEA_LAMBDA {
                    store(std::integral_constant<int, part() + 1>{}, both);
                });
        }
    }
    /// The first n of 2 * lanes elements, with zeros after them, in the order of memory: the parts are `plane` apart.
    template <class Element>
    FOVEA_INLINE static void split_row(Element const* from, index_t n, bfloat16* to, index_t plane) {
        auto const load = [&](index_t at)
                              FOVEA_LAMBDA { return n > at ? load_as<T, Arch>(from + at, n - at) : vector(T{0}); };
        vector low = load(0), high = load(lanes);
        unrolled<Parts>([&](auto part) FOVEA_LAMBDA {
            constexpr bool first = part() == 0;
            auto const a = first ? bounded(low) : low, b = first ? bounded(high) : high;
            pairs::store(pairs::rounded(a, b), to + part() * plane);
            auto const both = pairs::paired(a, b);
            low = first ? rest(low, lower(both)) : low - lower(both);
            high = first ? rest(high, upper(both)) : high - upper(both);
        });
    }

    /// The lower and the upper numbers of pairs.
    FOVEA_INLINE static vector lower(vector const& of) {
        return {bits::as_reals(bits::template shift_left<16>(bits::as_integers(of.value)))};
    }
    FOVEA_INLINE static vector upper(vector const& of) {
        auto const shifted = bits::template shift_right<16>(bits::as_integers(of.value));
        return {bits::as_reals(bits::template shift_left<16>(shifted))};
    }

private:
    using bits = registers<T, Arch>;

    FOVEA_INLINE static auto is_finite(vector const& x) { return abs(x) <= vector(std::numeric_limits<T>::max()); }
    /// Finite numbers are rounded to finite ones: to the greatest bfloat16, or less.
    FOVEA_INLINE static vector bounded(vector const& x) {
        vector const greatest(0x1.fep127f);
        return select(is_finite(x), min(max(x, -greatest), greatest), x);
    }
    FOVEA_INLINE static vector rest(vector const& x, vector const& first) {
        return select(is_finite(x), x - first, vector(T{0}));
    }
};

/// Calls f(left, right, loads_left, loads_right) for the products of two parts whose places add up to less than
/// `Kept`, but for those of the first parts, as constants: neighbours share a part where they can, and what f says to
/// load is the part that the one before did not have.
template <int Left, int Right, int Kept, class F>
FOVEA_INLINE void for_each_small_product(F const& f) {
    unrolled<Left>([&](auto n) FOVEA_LAMBDA {
        constexpr int left = Left - 1 - n(), last = std::min(Right, Kept - left), first = left == 0 ? 1 : 0;
        if constexpr (first < last)
            unrolled<last - first>([&](auto m) FOVEA_LAMBDA {
                constexpr int right = first + m();
                // The left part before this one ended with the right part that this one begins with.
                constexpr int ended = std::min(Right, Kept - left - 1) - 1;
                constexpr bool begins = m() == 0, continues = begins && n() > 0 && ended == right && ended >= 0;
                f(std::integral_constant<int, left>{}, std::integral_constant<int, right>{},
                  std::bool_constant<begins>{}, std::bool_constant<!continues>{});
            });
    });
}
template <int Left, int Right, int Kept>
constexpr int products_of_parts = [] {
    int n = 0;
    for (int left = 0; left < Left; ++left) n += std::max(0, std::min(Right, Kept - left));
    return n;
}();

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
