// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/paged.hpp>
#include <fovea/kernel/prefetch.hpp>
#include <fovea/kernel/prepare.hpp>

namespace fovea::FOVEA_SET::driver {

/// Some neighbouring keys of one head, or their values.
struct row_range {
    index_t batch, head, first, last;
};

/// The lines of these rows, to be prefetched; none where rows lie in pages.
template <class Rows>
kernel::prefetch_queue lines_of(Rows const& rows, row_range const& at) {
    if constexpr (is_paged<Rows>) return {};
    else {
        constexpr auto bytes = static_cast<index_t>(sizeof(*rows.data));
        return {rows.place(at.batch, at.head, at.first, 0), at.last - at.first, rows.extent(3) * bytes,
                rows.stride(2) * bytes};
    }
}

/// True where these rows are finite: then 0 times one of them is 0. Remembered in `known`, where -1 is unknown.
template <class T, class Arch, class Rows>
bool all_finite(signed char& known, Rows const& rows, row_range const& at) {
    if (known < 0) {
        auto const row = [&](index_t k) FOVEA_LAMBDA { return rows.place(at.batch, at.head, at.first + k, 0); };
        known = kernel::all_finite<T, Arch>(row, at.last - at.first, rows.extent(3));
    }
    return known == 1;
}

}  // namespace fovea::FOVEA_SET::driver
