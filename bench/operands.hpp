// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/shape.hpp"
#include "bench/yardstick/operands.hpp"

namespace bench {

/// The operands of a row, for one element of a batch.
template <class T>
yardstick::operands<T> operands_of(shape const& s) {
    return {{1, s.heads, s.length, s.size}, {1, s.key_heads(), s.key_length(), s.size}};
}

}  // namespace bench
