// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/view.hpp>
#include <fovea/testing/random.hpp>

#include "support/guarded.hpp"

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
