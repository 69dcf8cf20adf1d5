// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operands of driver/call/products.hpp.
#pragma once

#include <fovea/kernel/packing.hpp>
#include <fovea/kernel/product/accumulate.hpp>
#include <fovea/kernel/product/product.hpp>

namespace fovea::FOVEA_SET::driver {

/// A tile of queries and a run of packed keys.
template <class T>
struct panel_product {
    T const* queries;     // (features, mr)
    T const* keys;        // (panels, features, panel)
    index_t first, last;  // the run, in vectors of keys
    index_t features;     // or steps over them
    int mr;               // rows of the register tile
    T const* scales;      // (mr), for products that apply them to sums
    T* scores;            // (mr, stride)
    index_t stride;
};

/// The weights of a tile of rows, values, and the sums that these are added to.
template <class T, class Values = kernel::even_rows<T>, class Weights = kernel::row_weights<T>>
struct weighted_rows {
    kernel::weighted_values<T, Values, Weights> all;
    index_t width;  // of values, in whole vectors
    index_t rows;
    int mr;  // rows of the register tile
};

/// Rows of elements: the positions of one head, or of several interleaved heads.
template <class Element>
struct strided_rows {
    Element* first;
    index_t position_stride, head_stride = 0, heads = 1;
    index_t offset = 0;  // of row 0 from `first`, in rows

    /// Without some features at the beginning of each row.
    void skip(index_t features) { first += features; }

    FOVEA_INLINE Element* operator()(index_t r) const {
        r += offset;
        if (heads == 1) return first + r * position_stride;
        index_t const position = r / heads;
        return first + position * position_stride + (r - position * heads) * head_stride;
    }
};

/// A transposition: rows(i)[f] * scales[i] become the columns.
template <class T>
struct transposition {
    strided_rows<T const> rows;
    T const* scales;  // (count)
    kernel::transpose_target<T> destination;
};

/// Sums with a row in each lane, and the rows that they become: to(r)[c] = sums[c * width + r] * factors[r].
template <class T, class Element>
struct result_rows {
    T const* sums;  // (features, width)
    index_t width;
    T const* factors;  // (lanes)
    index_t count, features;
    strided_rows<Element> to;
};

}  // namespace fovea::FOVEA_SET::driver
