// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which rows of operands are prefetched while others are worked on.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>
#include <fovea/core/row_run.hpp>
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
    /// Of rows that do not all lie at equal distances: those from a position on that do; null for a view.
    row_run<char> (*run)(void const* rows, index_t b, index_t h, index_t n) = nullptr;
    void const* rows = nullptr;

    FOVEA_INLINE char const* place(index_t b, index_t h, index_t n) const {
        return first + b * batch + h * head + n * position;
    }
    /// `count` rows from a position on, or the first of them.
    row_run<char> from(index_t b, index_t h, index_t n, index_t count) const {
        if (run == nullptr) return {place(b, h, n), position, count};
        auto all = run(rows, b, h, n);
        all.count = std::min(all.count, count);
        return all;
    }
};

/// The rows of an operand, which outlives them, or the blocks of these; none of others that are loaded, since nothing
/// is known of where they are.
template <class Rows>
stored_rows rows_of(Rows const& rows) {
    if constexpr (requires { typename Rows::block_type; }) {
        return rows_of(rows.blocks);
    } else if constexpr (scaled_integers<Rows>) {
        return rows_of(rows.numbers);
    } else if constexpr (loaded_rows<Rows>) {
        return {};
    } else if constexpr (evenly_spaced<Rows>) {
        constexpr auto size = static_cast<index_t>(sizeof(*rows.data));
        return {reinterpret_cast<char const*>(rows.data), rows.stride(0) * size, rows.stride(1) * size,
                rows.stride(2) * size, rows.extent(3) * size};
    } else {
        constexpr auto size = static_cast<index_t>(sizeof(*rows.place(0, 0, 0, 0)));
        stored_rows stored;
        stored.bytes = rows.extent(3) * size;
        stored.rows = &rows;
        stored.run = [](void const* all, index_t b, index_t h, index_t n) -> row_run<char> {
            auto const found = rows_from(*static_cast<Rows const*>(all), b, h, n);
            return {reinterpret_cast<char const*>(found.first), found.stride * size, found.count};
        };
        return stored;
    }
}

/// Rows every `stride` bytes that begin in one page of virtual memory; at least one.
constexpr index_t rows_per_memory_page(index_t stride) {
    constexpr index_t bytes = 4096;
    return std::max<index_t>(bytes / std::max<index_t>(stride, 1), 1);
}
/// Prefetches every `step`th of some rows, `row(r)`, so that the lines that are prefetched later, one by one, find
/// their addresses translated: a prefetch waits for its translation and holds up what follows it, but in one go many
/// are translated at a time.
template <class Row>
FOVEA_INLINE void translate(index_t first, index_t last, index_t step, Row const& row) {
    for (index_t r = first; r < last; r += step) __builtin_prefetch(row(r), 0, 2);
}

/// The lines of some rows that are read later, to be prefetched beside other work. Rows that do not all lie at equal
/// distances are listed in `places`: (rows).
inline kernel::prefetch_queue lines_of(stored_rows const& rows, row_range const& at, index_t steps_per_line,
                                       char const** places) {
    index_t const count = at.last - at.first;
    if (rows.run == nullptr)  // pages of virtual memory in order are translated fast enough
        return kernel::prefetch_queue({.first = rows.place(at.batch, at.head, at.first),
                                       .rows = count,
                                       .row_bytes = rows.bytes,
                                       .stride_bytes = rows.position},
                                      steps_per_line);
    for (index_t n = at.first; n < at.last;) {
        auto const run = rows.from(at.batch, at.head, n, at.last - n);
        auto const row = [&](index_t r) FOVEA_LAMBDA { return run.first + r * run.stride; };
        translate(0, run.count, rows_per_memory_page(run.stride), row);
        for (index_t r = 0; r < run.count; ++r) places[n - at.first + r] = row(r);
        n += run.count;
    }
    return {places, count, rows.bytes, steps_per_line};
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
        for (index_t c = 0; c < rows.bytes; c += cache_line) __builtin_prefetch(row + c, Written, 2);
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
