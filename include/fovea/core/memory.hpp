// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory of a view as addresses: whether it can exist, whether elements coincide, whether two views share some.
#pragma once

#include <fovea/core/view.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

namespace fovea::FOVEA_SET::detail {

/// Whether two views are of the same elements in the same order; the stride of an axis of one element does not matter.
template <class T, int Rank>
FOVEA_INLINE bool same_elements(view<T, Rank> const& a, view<T, Rank> const& b) {
    bool same = a.data == b.data;  // axis by axis, so that no function is called
    for (int axis = 0; axis < Rank; ++axis)
        same = same && a.extent(axis) == b.extent(axis) && (a.extent(axis) <= 1 || a.stride(axis) == b.stride(axis));
    return same;
}

/// The memory of a view, whatever the type of its elements; `name` and `owner` begin the sentences about it.
struct memory_region {
    static constexpr std::size_t most_axes = 8;
    char const* name = "";
    char const* owner = "";
    std::uint64_t data = 0;  // the address, of 64 bits as strides are: differences wrap around in them
    index_t element = 1;     // bytes; 0 where elements are bits
    index_t first_bit = 0;   // within the first byte
    int twin = 0;  // what is read may be what is written, element by element, where both have the same number, not 0
    std::size_t rank = 0;
    std::uint64_t packed = 0;                         // packed_bytes
    std::array<index_t, most_axes> extents, strides;  // in elements; 0 from the rank on

    [[gnu::noinline]] bool empty() const {
        for (std::size_t axis = 0; axis < rank; ++axis)
            if (extents[axis] == 0) return true;
        return false;
    }
    bool same_as(memory_region const& other) const {
        return data == other.data && element == other.element && first_bit == other.first_bit && rank == other.rank
            && extents == other.extents && strides == other.strides;
    }
    message_part list(std::array<index_t, most_axes> const& numbers) const { return {numbers.data(), rank}; }
};

/// Bytes of virtual memory.
inline constexpr auto address_space = std::uint64_t{1} << (sizeof(void*) == 8 ? 57 : 32);

/// The bytes of a region whose elements lie one after another in the order of their indices, as those of a container;
/// 0 where they do not, where there are none or too many, and where they are bits. Most are so, and small calls notice
/// what the general questions below cost.
inline std::uint64_t packed_bytes(memory_region const& r) {
    index_t elements = 1, bytes = 0;
    for (std::size_t axis = r.rank; axis-- > 0;) {
        index_t const extent = r.extents[axis];
        bool const next = extent == 1 || (extent > 0 && r.strides[axis] == elements);
        if (!next || __builtin_mul_overflow(elements, extent, &elements)) return 0;
    }
    bool const uncountable = __builtin_mul_overflow(elements, r.element, &bytes);
    return uncountable || static_cast<std::uint64_t>(bytes) >= address_space ? 0 : static_cast<std::uint64_t>(bytes);
}

template <class T, int Rank>
[[gnu::noinline]] memory_region region_of(view<T, Rank> const& v, char const* name, char const* owner = "") {
    static_assert(Rank <= static_cast<int>(memory_region::most_axes),
                  "fovea: what a call reads or writes has at most 8 axes");
    memory_region region;
    region.name = name;
    region.owner = owner;
    region.data = reinterpret_cast<std::uintptr_t>(byte_of(v.data));
    region.element = bits_of_element<std::remove_const_t<T>> / 8;
    region.first_bit = first_bit_of(v.data);
    region.rank = Rank;
    [&]<std::size_t... Axis>(std::index_sequence<Axis...>) {  // no loop, for which a function would be called
        ((region.extents[Axis] = Axis < Rank ? v.extents[Axis % Rank] : 0), ...);
        ((region.strides[Axis] = Axis < Rank ? v.strides[Axis % Rank] : 0), ...);
    }(std::make_index_sequence<memory_region::most_axes>());
    region.packed = packed_bytes(region);
    return region;
}

/// A table that expressions read: an axis of stride 0 repeats its elements and may be as long as it likes.
template <class T, int Rank>
memory_region region_of_table(view<T, Rank> const& table, char const* name) {
    auto region = region_of(table, name);
    for (std::size_t axis = 0; axis < region.rank; ++axis)
        if (region.strides[axis] == 0 && region.extents[axis] > 1) {
            region.extents[axis] = 1;
            region.packed = packed_bytes(region);
        }
    return region;
}

/// Whether some byte belongs to both regions, and whether two elements of one lie in one place. They are sound.
FOVEA_CONTROL FOVEA_ONCE bool shares_elements(memory_region const& a, memory_region const& b);
FOVEA_CONTROL FOVEA_ONCE bool repeats_elements(memory_region const& r);

/// Errors: shape_error for extents below zero, for elements without an address, and for sizes that no memory has.
FOVEA_CONTROL FOVEA_ONCE void require_sound(memory_region const& r);
/// Errors: shape_error where an element of what is written has two indices.
FOVEA_CONTROL FOVEA_ONCE void require_distinct_elements(memory_region const& written);
/// Errors: shape_error where what is written shares a byte with something else that the call uses.
FOVEA_CONTROL FOVEA_ONCE void require_apart(memory_region const& written, memory_region const& other);

}  // namespace fovea::FOVEA_SET::detail

#ifndef FOVEA_COMPILED
#include <fovea/core/memory_checks.hpp>
#endif
