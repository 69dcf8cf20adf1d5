// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows from any source, all in memory, for loops that read them one at a time.
#pragma once

#include <fovea/core/row_run.hpp>
#include <fovea/driver/run/workspace.hpp>

namespace fovea::FOVEA_SET::driver {

/// Rows in memory: what is loaded is loaded at once.
template <class T, class Rows>
auto in_memory(Rows const& rows, workspace& scratch) {
    if constexpr (loaded_rows<Rows>) {
        extents_t<4> const& n = rows.extents;
        auto const all = fresh_rows<T>(scratch, n);
        for (index_t b = 0; b < n[0]; ++b)
            for (index_t h = 0; h < n[1]; ++h) rows.load(row_range{b, h, 0, n[2]}, all.place(b, h, 0, 0), n[3]);
        return view<T const, 4>(all);
    } else {
        return rows;
    }
}

}  // namespace fovea::FOVEA_SET::driver
