// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables in which an axis of one element stands for all positions along it.
#pragma once

#include <fovea/core/view.hpp>

namespace fovea::FOVEA_SET::detail {

/// An axis of extent 1 stands for all positions along it: its elements repeat.
inline constexpr index_t everywhere = index_t{1} << 40;
template <class T, int Rank>
constexpr view<T, Rank> repeated(view<T, Rank> table) {
    for (std::size_t axis = 0; axis < std::size_t{Rank}; ++axis)
        if (table.extents[axis] == 1) {
            table.extents[axis] = everywhere;
            table.strides[axis] = 0;
        }
    return table;
}

/// The elements of a table: those that are repeated once.
template <class T, int Rank>
FOVEA_INLINE constexpr view<T, Rank> once(view<T, Rank> table) {
    for (std::size_t axis = 0; axis < std::size_t{Rank}; ++axis)
        if (table.extents[axis] == everywhere) table.extents[axis] = 1;
    return table;
}

/// A number for each element of a table, dense, which repeats as the element does.
template <class Number, class T, int Rank>
FOVEA_INLINE constexpr view<Number, Rank> beside(view<T, Rank> const& table, Number* numbers) {
    view<Number, Rank> all(numbers, once(table).extents);
    for (std::size_t axis = 0; axis < std::size_t{Rank}; ++axis)
        if (table.extents[axis] == everywhere) {
            all.extents[axis] = everywhere;
            all.strides[axis] = 0;
        }
    return all;
}

}  // namespace fovea::FOVEA_SET::detail
