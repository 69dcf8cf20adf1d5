// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/as_view.hpp>
#include <fovea/core/bits.hpp>
#include <fovea/core/integer_argument.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

namespace detail {
/// The sentence for what is no byte; true for one.
template <class Byte>
constexpr bool holds_eight_bits() {
    constexpr bool byte = std::is_same_v<Byte, std::byte> || (std::is_integral_v<Byte> && sizeof(Byte) == 1);
    constexpr bool packed = byte && !std::is_same_v<Byte, bool>;
    static_assert(packed, "fovea: packed_bits takes bytes of eight bits each, such as std::uint8_t");
    return packed;
}

/// The bytes of a container that outlives the view of their bits.
template <int Rank, class Bytes>
auto bytes_of(Bytes&& container) {
    auto const kept = kept_table_of<Rank>(std::forward<Bytes>(container));
    if constexpr (holds_eight_bits<typename std::remove_const_t<decltype(kept)>::value_type>())
        return view<unsigned char const, Rank>(byte_of(kept.data), kept.extents, kept.strides);
    else return view<unsigned char const, Rank>();
}

/// Bits of rows of bytes.
template <int Rank>
view<bit const, Rank> bits_of_rows(view<unsigned char const, Rank> const& rows, index_t keys) {
    auto extents = rows.extents, strides = rows.strides;
    extents.back() = keys;
    for (auto& stride : strides) stride = wrapped_times(stride, 8);
    strides.back() = 1;
    return {rows.data, extents, strides};
}
/// Bits without gaps, but that each row of the last axis begins in a byte.
template <std::size_t Rank>
auto bits_in_rows(unsigned char const* bytes, std::array<index_t, Rank> const& extents) {
    constexpr int rank{Rank};
    auto in_bytes = extents;
    in_bytes.back() = extents.back() / 8 + (extents.back() % 8 > 0);
    return bits_of_rows(view<unsigned char const, rank>(bytes, in_bytes), extents.back());
}

/// Bits that lie in the bytes. Errors: shape_error where some lie before or after them.
template <int Rank>
view<bit const, Rank> bits_within(view<unsigned char const, 1> const& bytes, view<bit const, Rank> const& bits) {
    index_t first = 0, last = 0;
    bool uncountable = false;
    for (std::size_t axis = 0; axis < std::size_t{Rank}; ++axis) {
        index_t side = 0;
        uncountable |= __builtin_mul_overflow(bits.extents[axis] - 1, bits.strides[axis], &side);
        index_t& end = side < 0 ? first : last;
        uncountable |= __builtin_add_overflow(end, side, &end);
    }
    bool const outside = uncountable || first < 0 || last / 8 >= bytes.size();
    if (outside && !bits.empty())
        raise_error(shape_error("packed_bits: bits of extents ", bits.extents, " with strides ", bits.strides,
                                " reach outside of ", counted(bytes.size(), "byte")));
    return bits;
}

template <std::size_t Rank>
constexpr extents_t<static_cast<int>(Rank)> numbers_of(any_extent const (&given)[Rank]) {
    extents_t<static_cast<int>(Rank)> numbers{};
    for (std::size_t axis = 0; axis < Rank; ++axis) numbers[axis] = given[axis].value;
    return numbers;
}
}  // namespace detail

/// packed_bits: conditions of one bit each, eight in a byte, the first one least: a view of them, for masks and tables.
///
///     mask_tensor(packed_bits(bytes, keys))              each row begins in a byte: (.., query, byte)
///     mask_tensor(packed_bits(bytes, {queries, keys}))   one bit after another, whatever the rows
///     packed_bits(bytes, {queries, keys}, {stride, 1})   strides in bits
///
/// bytes: integers of 8 bits in a view or a container that outlives the view; of one axis where extents are given.
/// Cost: as of a table of bool, whose memory is eight times as large. Edge cases: other bits of the bytes may be
/// anything. Errors: shape_error where bytes are missing.
/// Source: packed_custom_mask of FlashInfer, and packbits of NumPy with bitorder='little'.
template <class Bytes>
auto packed_bits(Bytes&& bytes, integer_argument keys) {
    constexpr int rank = decltype(detail::view_of(bytes))::rank;
    auto const all = detail::bytes_of<rank>(std::forward<Bytes>(bytes));
    index_t const bytes_of_row = all.extents.back();
    if (keys < 0 || keys > detail::product_or_most(bytes_of_row, 8))
        raise_error(shape_error("packed_bits: rows of ", detail::counted(bytes_of_row, "byte"), " do not have ",
                                detail::counted(keys.value, "bit")));
    return detail::bits_of_rows(all, keys);
}
template <class Bytes, std::size_t Rank>
    requires(Rank > 1)
auto packed_bits(Bytes&& bytes, detail::any_extent const (&extents)[Rank]) {
    auto const all = detail::bytes_of<1>(std::forward<Bytes>(bytes));
    return detail::bits_within(all, view<bit const, int{Rank}>(all.data, detail::numbers_of(extents)));
}
template <class Bytes, std::size_t Rank>
    requires(Rank > 1)
auto packed_bits(Bytes&& bytes, detail::any_extent const (&extents)[Rank], detail::any_extent const (&strides)[Rank]) {
    auto const all = detail::bytes_of<1>(std::forward<Bytes>(bytes));
    return detail::bits_within(
        all, view<bit const, int{Rank}>(all.data, detail::numbers_of(extents), detail::numbers_of(strides)));
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
