// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Indices from one to another: of blocks, of heads, of places in a row.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>

namespace fovea::FOVEA_SET::driver {

/// Indices [first, last): of blocks of rows, of blocks of keys, of head groups, or places in a row.
struct index_range {
    index_t first, last;
    index_t size() const { return last - first; }
};

}  // namespace fovea::FOVEA_SET::driver
