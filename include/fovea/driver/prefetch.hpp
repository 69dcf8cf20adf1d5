// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>
#include <fovea/kernel/prefetch.hpp>
#include <fovea/spec/outputs.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Prefetches the lines of up to `count` rows from one of `all` on, to be read or to be written. Rows of
/// `group` heads take turns.
template <bool Written, class Rows>
FOVEA_INLINE void prefetch_rows(Rows const& rows, index_t group, row_place const& at, index_t all, index_t count) {
    index_t const last = std::min(at.query + count, all), features = rows.extent(3);
    constexpr auto line = kernel::cache_line / static_cast<index_t>(sizeof(*rows.data));
    index_t position = at.query / group, head = at.query % group;
    for (index_t r = at.query; r < last; ++r) {
        auto const* const row = rows.place(at.batch, at.head * group + head, position, 0);
        for (index_t c = 0; c < features; c += line) __builtin_prefetch(row + c, Written, 2);
        if (++head < group) continue;
        head = 0;
        ++position;
    }
}

/// While some rows are worked on: prefetches the results that they will write, and the queries of as many rows that
/// follow.
template <class Operands>
FOVEA_INLINE void prefetch_beside(Operands const& operands, index_t group, row_place const& now, row_place const& next,
                                  index_t count) {
    index_t const all = operands.queries() * group;
    prefetch_rows<true>(operands.result, group, now, all, count);
    if (next.batch < operands.batches()) prefetch_rows<false>(operands.query, group, next, all, count);
}

/// The row that is likely to follow when all before it in its head are done: (batch, head, row).
inline row_place row_after(row_place at, index_t rows, index_t heads) {
    if (at.query < rows) return at;
    if (at.head + 1 < heads) return {at.batch, at.head + 1, 0};
    return {at.batch + 1, 0, 0};
}

}  // namespace fovea::FOVEA_SET::driver
