// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the products of driver/products.hpp work on.
#pragma once

#include <fovea/kernel/accumulate.hpp>
#include <fovea/kernel/prepare.hpp>

namespace fovea::FOVEA_SET::driver {

/// Packed keys, some vectors of them, and a tile of queries.
template <class T>
struct panel_product {
    T const* queries;     // (features, step)
    T const* keys;        // (panels, features, panel)
    index_t first, last;  // vectors of keys
    index_t features;     // or words
    int step;             // rows of the register tile
    T const* scales;      // (step), of products of words
    T* scores;            // (step, stride)
    index_t stride;
};

/// The weights of a tile of rows, values, and what they are added to.
template <class T, class Value>
struct weighted_rows {
    kernel::weighted_values<T, Value> all;
    index_t rows;
    int step;  // rows of the register tile
};

/// Rows of elements: positions of one head, or of some heads that take turns.
template <class Element>
struct strided_rows {
    Element* first;
    index_t position_stride, head_stride = 0, heads = 1;
    index_t offset = 0;  // of row 0 from `first`, in rows

    FOVEA_INLINE Element* operator()(index_t r) const {
        r += offset;
        if (heads == 1) return first + r * position_stride;
        index_t const position = r / heads;
        return first + position * position_stride + (r - position * heads) * head_stride;
    }
};

/// Rows that are transposed: rows(i)[f] * scales[i].
template <class T>
struct transposition {
    strided_rows<T const> rows;
    T const* scales;  // (count)
    kernel::transposed<T> side_by_side;
};

/// Some lanes of sums that become rows: to(r)[c] = sums[c * width + r] * factors[r].
template <class T, class Element>
struct result_rows {
    T const* sums;  // (features, width)
    index_t width;
    T const* factors;  // (lanes)
    index_t count, features;
    strided_rows<Element> to;
};

}  // namespace fovea::FOVEA_SET::driver
