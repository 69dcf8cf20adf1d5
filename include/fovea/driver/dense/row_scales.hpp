// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Factors of a product, one for each row of a tile or the same for all.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>
#include <fovea/expr/analyze.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The factors of a product for the rows of a tile, of which `scale_of(r)` is that of row r; evaluated once where they
/// are all the same.
template <class Scale, class T, class ScaleOf>
FOVEA_INLINE void scales_of_rows(index_t rows, T* scales, ScaleOf const& scale_of) {
    if constexpr (uses<std::remove_cvref_t<Scale>, head_t, q_idx_t, q_t>)
        for (index_t r = 0; r < rows; ++r) scales[r] = scale_of(r);
    else std::fill_n(scales, rows, scale_of(0));
}

}  // namespace fovea::FOVEA_SET::driver
