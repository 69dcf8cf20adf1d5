// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of the pairs of a tile, such as weights, as outputs and aggregators are given them.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/kernel/environment.hpp>

#include <type_traits>

namespace fovea::FOVEA_SET::driver {

/// Numbers of the pairs of some queries of a tile, of one batch element, with adjacent keys.
template <class T>
struct tile_of_pairs {
    kernel::row_coordinates const* rows;
    index_t count;        // of queries
    index_t first, keys;  // keys beyond the last of the call may be among them
    T* numbers;           // (count, keys)
    index_t stride;
    index_t from_row = 0;  // the first of these queries in the tile

    operator tile_of_pairs<T const>() const
        requires(!std::is_const_v<T>)
    {
        return {rows, count, first, keys, numbers, stride, from_row};
    }
    tile_of_pairs of_keys(index_t from, index_t n) const {
        return {rows, count, first + from, n, numbers + from, stride, from_row};
    }
    tile_of_pairs of_row(index_t r) const { return {rows + r, 1, first, keys, row(r), stride, from_row + r}; }
    T* row(index_t r) const { return numbers + r * stride; }
};

}  // namespace fovea::FOVEA_SET::driver
