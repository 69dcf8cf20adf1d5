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
    std::array<index_t, most_axes> extents{}, strides{};  // in elements

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

template <class T, int Rank>
memory_region region_of(view<T, Rank> const& v, char const* name, char const* owner = "") {
    static_assert(Rank <= static_cast<int>(memory_region::most_axes),
                  "fovea: what a call reads or writes has at most 8 axes");
    memory_region region{name, owner, reinterpret_cast<std::uintptr_t>(byte_of(v.data)),
                         bits_of_element<std::remove_const_t<T>> / 8, first_bit_of(v.data)};
    region.rank = Rank;
    std::copy(v.extents.begin(), v.extents.end(), region.extents.begin());
    std::copy(v.strides.begin(), v.strides.end(), region.strides.begin());
    return region;
}

/// A table that expressions read: an axis of stride 0 repeats its elements and may be as long as it likes.
template <class T, int Rank>
memory_region region_of_table(view<T, Rank> const& table, char const* name) {
    auto region = region_of(table, name);
    for (std::size_t axis = 0; axis < region.rank; ++axis)
        if (region.strides[axis] == 0 && region.extents[axis] > 1) region.extents[axis] = 1;
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
