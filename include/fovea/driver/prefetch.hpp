// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which rows of operands are prefetched while others are worked on.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>
#include <fovea/core/paged.hpp>
#include <fovea/core/view.hpp>
#include <fovea/kernel/prefetch.hpp>
#include <fovea/spec/outputs.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Where rows of features are stored, whatever their elements: (batch, head, position), in bytes.
struct stored_rows {
    char const* first = nullptr;
    index_t batch = 0, head = 0, position = 0;  // strides
    index_t bytes = 0;                          // of a row

    FOVEA_INLINE char const* place(index_t b, index_t h, index_t n) const {
        return first + b * batch + h * head + n * position;
    }
};

/// The rows of a view; of rows in pages none, since nothing is known of where the next ones are.
template <class Rows>
stored_rows rows_of(Rows const& rows) {
    if constexpr (is_paged<Rows>) return {};
    else {
        constexpr auto size = static_cast<index_t>(sizeof(*rows.data));
        return {reinterpret_cast<char const*>(rows.data), rows.stride(0) * size, rows.stride(1) * size,
                rows.stride(2) * size, rows.extent(3) * size};
    }
}

/// Adjacent keys of one head, or their values.
struct row_range {
    index_t batch, head, first, last;
};

/// The lines of these rows, to be prefetched.
inline kernel::prefetch_queue lines_of(stored_rows const& rows, row_range const& at,
                                       index_t steps_per_line = kernel::prefetch_queue::usual_steps_per_line) {
    return kernel::prefetch_queue({.first = rows.place(at.batch, at.head, at.first),
                                   .rows = at.last - at.first,
                                   .row_bytes = rows.bytes,
                                   .stride_bytes = rows.position},
                                  steps_per_line);
}

/// A row of the interleaved queries of a head group.
struct group_row {
    index_t batch, head_group, row;
};

/// Prefetches the lines of up to `count` rows from `at` on, to be read or written: of a head group, which has `all`
/// rows, the interleaved queries of `heads` heads.
template <bool Written>
FOVEA_INLINE void prefetch_rows(stored_rows const& rows, index_t heads, group_row const& at, index_t all,
                                index_t count) {
    if (rows.bytes == 0) return;
    index_t const last = std::min(at.row + count, all);
    index_t position = at.row / heads, head = at.row % heads;
    for (index_t r = at.row; r < last; ++r) {
        auto const* const row = rows.place(at.batch, at.head_group * heads + head, position);
        for (index_t c = 0; c < rows.bytes; c += kernel::cache_line) __builtin_prefetch(row + c, Written, 2);
        if (++head < heads) continue;
        head = 0;
        ++position;
    }
}

/// The row that is likely to follow when all before it in its head group are done.
inline group_row row_after(group_row at, index_t rows, index_t head_groups) {
    if (at.row < rows) return at;
    if (at.head_group + 1 < head_groups) return {at.batch, at.head_group + 1, 0};
    return {at.batch + 1, 0, 0};
}

}  // namespace fovea::FOVEA_SET::driver
