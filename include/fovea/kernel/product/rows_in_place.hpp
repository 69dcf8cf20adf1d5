// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows as they are stored, for microkernels that read them in place: at equal distances or anywhere, in blocks, or
// integers with scales.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/kernel/prefetch.hpp>
#include <fovea/simd/simd.hpp>
#include <fovea/simd/unrolled.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::kernel {

/// Rows at equal distances.
template <class Element>
struct even_rows {
    Element const* first;
    index_t stride;
    index_t ahead = 0;  // elements to what is prefetched beside a row; 0: nothing is

    FOVEA_INLINE Element const* row(index_t i) const { return first + i * stride; }
    FOVEA_INLINE void advance(index_t rows = 1) { first += rows * stride; }
    /// The rows from one of them on, each from a feature on.
    even_rows from(index_t i, index_t feature) const { return {row(i) + feature, stride, ahead}; }

    /// The row that is read some time after row i, and how far that is from it.
    FOVEA_INLINE Element const* after(index_t i) const { return row(i) + ahead; }
    FOVEA_INLINE index_t distance(index_t) const { return ahead; }
};
template <class Element>
even_rows(Element const*, index_t) -> even_rows<Element>;

/// Rows anywhere, each at its address; the addresses of `ahead` more rows follow.
template <class Element>
struct rows_by_address {
    Element const* const* at;
    index_t feature = 0;
    index_t ahead = 0;  // rows to the one that is prefetched beside a row; 0: none is

    FOVEA_INLINE Element const* row(index_t i) const { return at[i] + feature; }
    FOVEA_INLINE void advance(index_t rows = 1) { at += rows; }
    rows_by_address from(index_t i, index_t further) const { return {at + i, feature + further, ahead}; }

    FOVEA_INLINE Element const* after(index_t i) const { return at[i + ahead] + feature; }
    FOVEA_INLINE index_t distance(index_t i) const { return at[i + ahead] - at[i]; }
};

/// Rows of blocks that are decoded as they are read, from a feature on.
template <class Rows>
struct decoded_rows {
    Rows blocks;
    index_t feature = 0;

    FOVEA_INLINE auto const* row(index_t i) const { return blocks.row(i); }
    FOVEA_INLINE void advance(index_t rows = 1) { blocks.advance(rows); }
    decoded_rows from(index_t i, index_t further) const { return {blocks.from(i, 0), feature + further}; }
    FOVEA_INLINE auto const* after(index_t i) const { return blocks.after(i); }
    FOVEA_INLINE index_t distance(index_t i) const { return blocks.distance(i); }
};

/// The type of the elements of such rows.
template <class Rows>
using element_in_place = std::remove_cvref_t<decltype(*std::declval<Rows const&>().row(0))>;

/// no_rows: stands for zero points where there are none.
struct no_rows {
    struct element {};
    FOVEA_INLINE element const* row(index_t) const { return nullptr; }
    FOVEA_INLINE void advance(index_t) {}
    no_rows from(index_t, index_t) const { return {}; }
};

/// Features that share a scale: that of feature f is scales[f >> shift]. Shared by all, by each, or by a power of two.
struct shared_scale {
    static constexpr int of_all = 63, of_none = 0;
    int shift;

    /// Of blocks of so many features; packs of so many lanes lie in one block.
    static std::optional<shared_scale> of(index_t block, index_t features, index_t lanes) {
        if (block == features) return shared_scale{of_all};
        if (block == 1) return shared_scale{of_none};
        auto const size = static_cast<std::uint64_t>(block);
        if (block % lanes != 0 || !std::has_single_bit(size)) return std::nullopt;
        return shared_scale{std::countr_zero(size)};
    }
};

/// A row of integers with its scales and zero points.
template <class Number, class Scale, class Zero>
struct scaled_row {
    Number const* numbers;
    Scale const* scales;
    Zero const* zeros;

    FOVEA_INLINE Number const& operator*() const { return *numbers; }
};
template <class Number, class Scale, class Zero>
scaled_row(Number const*, Scale const*, Zero const*) -> scaled_row<Number, Scale, Zero>;

/// Rows of integers that are multiplied by their scales as they are read, from a feature on.
template <class Numbers, class Scales, class Zeros>
struct scaled_rows {
    Numbers numbers;
    Scales scales;
    FOVEA_NO_UNIQUE_ADDRESS Zeros zeros;
    shared_scale shared;
    index_t feature = 0;

    FOVEA_INLINE auto row(index_t i) const { return scaled_row{numbers.row(i), scales.row(i), zeros.row(i)}; }
    FOVEA_INLINE void advance(index_t rows = 1) {
        numbers.advance(rows);
        scales.advance(rows);
        zeros.advance(rows);
    }
    scaled_rows from(index_t i, index_t further) const {
        return {numbers.from(i, further), scales.from(i, 0), zeros.from(i, 0), shared, feature + further};
    }
    FOVEA_INLINE auto after(index_t i) const { return scaled_row{numbers.after(i), scales.row(i), zeros.row(i)}; }
    FOVEA_INLINE index_t distance(index_t i) const { return numbers.distance(i); }
};
template <class Numbers, class Scales, class Zeros>
scaled_rows(Numbers, Scales, Zeros, shared_scale) -> scaled_rows<Numbers, Scales, Zeros>;
template <class Rows>
inline constexpr bool are_scaled = false;
template <class Numbers, class Scales, class Zeros>
inline constexpr bool are_scaled<scaled_rows<Numbers, Scales, Zeros>> = true;

/// Some features of a row as a pack: `row` is what rows.row(i) gave, `left` features of it are left.
template <class T, class Arch, class Rows, class Element>
FOVEA_INLINE pack<T, Arch> features_of(Rows const&, Element const* row, index_t offset, index_t left) {
    return load_as<T, Arch>(row + offset, left);
}
template <class T, class Arch, class Rows, class Block>
FOVEA_INLINE pack<T, Arch> features_of(decoded_rows<Rows> const& rows, Block const* row, index_t offset, index_t left) {
    using blocks = block_storage<Block, T, Arch>;
    if constexpr (requires { blocks::load(row, offset, left); }) return blocks::load(row, rows.feature + offset, left);
    else return blocks::load(row, rows.feature + offset);
}
template <class T, class Arch, class Numbers, class Scales, class Zeros, class Number, class Scale, class Zero>
FOVEA_INLINE pack<T, Arch> features_of(scaled_rows<Numbers, Scales, Zeros> const& rows,
                                       scaled_row<Number, Scale, Zero> const& row, index_t offset, index_t left) {
    index_t const feature = rows.feature + offset, block = feature >> rows.shared.shift;
    auto const of_features = [&](auto const* from) FOVEA_LAMBDA {
        if (rows.shared.shift == shared_scale::of_none) return load_as<T, Arch>(from + feature, left);
        return in_all_lanes<T, Arch>(from[block]);
    };
    auto const numbers = load_as<T, Arch>(row.numbers + offset, left);
    if constexpr (std::is_same_v<Zeros, no_rows>) return of_features(row.scales) * numbers;
    else return of_features(row.scales) * (numbers - of_features(row.zeros));
}

/// The packs that are loaded at once from such rows: those of a block, else one.
template <class T, class Arch, class Rows>
inline constexpr int packs_at_once = 1;
template <class T, class Arch, class Rows>
    requires requires { Rows::blocks; }
inline constexpr int packs_at_once<T, Arch, Rows> = [] {
    using block = element_in_place<Rows>;
    if constexpr (loads_whole_blocks<block, T, Arch>) return block_storage<block, T, Arch>::packs;
    else return 1;
}();

/// The `Packs` packs of a row from a feature on, which is a multiple of theirs.
template <int Packs, class T, class Arch, class Rows, class Row>
FOVEA_INLINE void load_features(Rows const& rows, Row const& row, index_t feature, c_array<pack<T, Arch>, Packs>& to) {
    constexpr int at_once = packs_at_once<T, Arch, Rows>;
    if constexpr (at_once > 1 && Packs % at_once == 0) {
        using block_type = element_in_place<Rows>;
        auto const* const block = row + static_cast<std::size_t>(rows.feature + feature) / block_type::size;
        unrolled<Packs / at_once>(
            [&](auto b) FOVEA_LAMBDA { block_storage<block_type, T, Arch>::load_all(block[b], &to[b * at_once]); });
        unrolled<Packs>([&](auto p) FOVEA_LAMBDA { to[p] = opaque(to[p]); });
    } else {
        constexpr index_t lanes = pack<T, Arch>::lanes;
        [&]<int... P>(std::integer_sequence<int, P...>) FOVEA_LAMBDA {
            ((to[P] = opaque(features_of<T, Arch>(rows, row, feature + P * lanes, lanes))), ...);
        }(std::make_integer_sequence<int, Packs>{});
    }
}
/// The bytes of so many features of such rows.
template <class Rows>
constexpr index_t bytes_of_features(index_t features) {
    return features * static_cast<index_t>(sizeof(element_in_place<Rows>));
}
template <class Rows>
    requires requires { Rows::blocks; }
constexpr index_t bytes_of_features(index_t features) {
    using block = element_in_place<Rows>;
    return ceil_div(features, block::size) * static_cast<index_t>(sizeof(block));
}

/// Prefetches `Count` features from one on of the row that is `distance` elements after a row.
template <index_t Count, class Rows, class Element>
FOVEA_INLINE void prefetch_features(Rows const&, Element const* row, index_t feature, index_t distance) {
    prefetch_to_l2<Count>(row + feature + distance);
}
template <index_t Count, class Rows, class Block>
FOVEA_INLINE void prefetch_features(decoded_rows<Rows> const& rows, Block const* row, index_t feature,
                                    index_t distance) {
    prefetch_to_l2<ceil_div(Count, Block::size)>(row + (rows.feature + feature) / Block::size + distance);
}
template <index_t Count, class Numbers, class Scales, class Zeros, class Row>
FOVEA_INLINE void prefetch_features(scaled_rows<Numbers, Scales, Zeros> const&, Row const& row, index_t feature,
                                    index_t distance) {
    prefetch_to_l2<Count>(row.numbers + feature + distance);
}

}  // namespace fovea::FOVEA_SET::kernel
