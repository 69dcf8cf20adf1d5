// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/yardstick/random.hpp"

namespace yardstick {

/// operands: random query, key and value, and room for the result, as (batch, head, position, feature).
template <class T>
struct operands {
    fovea::tensor<T, 4> query, key, value, result;

    operands(fovea::extents_t<4> const& queries, fovea::extents_t<4> const& keys)
        : query(random_tensor<T, 4>(queries, 1)),
          key(random_tensor<T, 4>(keys, 2)),
          value(random_tensor<T, 4>(keys, 3)),
          result(queries) {}

    /// As many keys as queries.
    explicit operands(fovea::extents_t<4> const& both) : operands(both, both) {}
};

}  // namespace yardstick
