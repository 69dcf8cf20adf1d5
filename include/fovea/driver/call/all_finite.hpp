// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether some rows of an operand are finite.
#pragma once

#include <fovea/driver/call/row_runs.hpp>
#include <fovea/kernel/packing.hpp>

namespace fovea::FOVEA_SET::driver {

/// True where these rows are finite: then 0 times one of them is 0.
template <class T, class Arch, class Rows>
bool all_finite(Rows const& rows, row_range const& at) {
    if constexpr (loaded_rows<Rows>) {
        return rows.finite(at);
    } else {
        bool all = true;
        for_runs(rows, at, [&](auto const& run, index_t) {
            auto const row = [&](index_t k) FOVEA_LAMBDA { return run.first + k * run.stride; };
            all = all && kernel::all_finite<T, Arch>(row, run.count, rows.extent(3));
        });
        return all;
    }
}

}  // namespace fovea::FOVEA_SET::driver
