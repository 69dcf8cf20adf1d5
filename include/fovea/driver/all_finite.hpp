// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether some rows of an operand are finite.
#pragma once

#include <fovea/driver/prefetch.hpp>
#include <fovea/kernel/packing.hpp>

namespace fovea::FOVEA_SET::driver {

/// True where these rows are finite: then 0 times one of them is 0.
template <class T, class Arch, class Rows>
bool all_finite(Rows const& rows, row_range const& at) {
    auto const row = [&](index_t k) FOVEA_LAMBDA { return rows.place(at.batch, at.head, at.first + k, 0); };
    return kernel::all_finite<T, Arch>(row, at.last - at.first, rows.extent(3));
}

}  // namespace fovea::FOVEA_SET::driver
