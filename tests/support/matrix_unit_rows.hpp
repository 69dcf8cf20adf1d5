// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/half.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/testing/random.hpp>

#include "support/guarded.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

/// The sizes of a call of one batch element; `group` query heads share the keys of one of `heads`.
struct unit_sizes {
    fovea::index_t queries, keys, features, value_features, heads = 1, group = 1;
};

/// Rows in memory that ends with the last of them, with a distance between rows.
template <class Element>
struct rows_in_memory {
    guarded<Element> memory;
    fovea::view<Element, 4> rows;

    rows_in_memory(fovea::testing::dice& random, fovea::index_t heads, fovea::index_t count, fovea::index_t features,
                   fovea::index_t gap)
        : memory(heads * count * (features + gap) - (count > 0 ? gap : 0)),
          rows(memory.data(), {1, heads, count, features},
               {heads * count * (features + gap), count * (features + gap), features + gap, 1}) {
        for (auto& x : memory) x = Element(std::numeric_limits<float>::quiet_NaN());
        for (fovea::index_t h = 0; h < heads; ++h)
            for (fovea::index_t n = 0; n < count; ++n)
                for (fovea::index_t c = 0; c < features; ++c)
                    rows(0, h, n, c) = Element(static_cast<float>(random.real(-2, 2)));
    }
};

/// Their numbers, or the magnitudes of these.
inline fovea::tensor<float, 4> widened(fovea::view<fovea::bfloat16 const, 4> const& x, bool magnitude = false) {
    using fovea::index_t;
    fovea::tensor<float, 4> to(x.extents);
    for (index_t h = 0; h < x.extents[1]; ++h)
        for (index_t n = 0; n < x.extents[2]; ++n)
            for (index_t c = 0; c < x.extents[3]; ++c) {
                auto const number = static_cast<float>(x(0, h, n, c));
                to(0, h, n, c) = magnitude ? std::abs(number) : number;
            }
    return to;
}

/// Keys and values (1, heads, positions, feature) in pages of some slots, the last positions in the first page.
template <class Element>
struct pages_from_the_end {
    fovea::tensor<Element, 4> keys, values;
    fovea::tensor<std::int32_t, 2> table;

    pages_from_the_end(fovea::view<Element const, 4> const& k, fovea::view<Element const, 4> const& v,
                       fovea::index_t slots)
        : keys({k.extent(2) / slots, k.extent(1), slots, k.extent(3)}),
          values({k.extent(2) / slots, v.extent(1), slots, v.extent(3)}),
          table({1, k.extent(2) / slots}) {
        fovea::index_t const pages = table.extent(1);
        for (fovea::index_t p = 0; p < pages; ++p) {
            table(0, p) = static_cast<std::int32_t>(pages - 1 - p);
            for (fovea::index_t h = 0; h < k.extent(1); ++h)
                for (fovea::index_t n = 0; n < slots; ++n) {
                    std::copy_n(k.place(0, h, p * slots + n, 0), k.extent(3),
                                keys.view().place(pages - 1 - p, h, n, 0));
                    std::copy_n(v.place(0, h, p * slots + n, 0), v.extent(3),
                                values.view().place(pages - 1 - p, h, n, 0));
                }
        }
    }
};
