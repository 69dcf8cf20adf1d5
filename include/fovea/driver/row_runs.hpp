// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows that are read in place, run by run, and how far ahead of each run to prefetch.
#pragma once

#include <fovea/core/row_run.hpp>
#include <fovea/driver/prefetch.hpp>
#include <fovea/driver/product_operands.hpp>
#include <fovea/spec/shapes.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// What products read: rows in memory as they are stored, others as numbers of the type of the arithmetic.
template <class Rows, class T>
using read_as = std::conditional_t<loaded_rows<Rows>, T, element_of_rows<Rows>>;

/// The distance between loaded rows.
template <class T>
constexpr index_t loaded_stride(index_t features) {
    return round_up(features, kernel::cache_line / static_cast<index_t>(sizeof(T)));
}
/// Rows that are loaded at a time, to stay in the L1 cache while they are read.
inline constexpr index_t rows_at_once = 32;

/// Calls f(run, offset, ahead) for some rows of a head in order: a run of them, how many come before it, and the
/// distance at which to prefetch while it is read. The last rows of a page prefetch the first of the next page. Rows
/// that are not in memory are loaded to `loaded`: (rows_at_once, loaded_stride).
template <class Rows, class T, class F>
void for_runs(Rows const& rows, row_range const& at, [[maybe_unused]] T* loaded, F const& f) {
    if constexpr (loaded_rows<Rows>) {
        index_t const stride = loaded_stride<T>(rows.extent(3));
        for (index_t n = at.first; n < at.last; n += rows_at_once) {
            index_t const last = std::min(n + rows_at_once, at.last);
            rows.load(row_range{at.batch, at.head, n, last}, loaded, stride);
            f(row_run<T>{loaded, stride, last - n}, n - at.first, kernel::prefetch_distance());
        }
    } else {
        for_runs(rows, at, f);
    }
}
template <class Rows, class F>
void for_runs(Rows const& rows, row_range const& at, F const& f) {
    auto all = rows_from(rows, at.batch, at.head, at.first);
    constexpr auto size = static_cast<index_t>(sizeof(*all.first));
    index_t const row_bytes = rows.extent(3) * size;
    if constexpr (evenly_spaced<Rows>) {
        all.count = at.last - at.first;
        f(all, index_t{0}, kernel::prefetch_distance(row_bytes, all.stride * size));
    } else {
        constexpr index_t at_once = 16;  // rows: a multiple of what a microkernel takes, whatever the vectors
        for (index_t n = at.first; n < at.last;) {
            auto const next = n + all.count < rows.extent(2) ? rows_from(rows, at.batch, at.head, n + all.count) : all;
            auto run = all;
            run.count = std::min(all.count, at.last - n);
            index_t const within = std::max<index_t>(run.count - kernel::prefetch_distance::rows(row_bytes), 0);
            if (auto part = run; within >= at_once) {
                part.count = within / at_once * at_once;
                f(part, n - at.first, kernel::prefetch_distance(row_bytes, run.stride * size));
                run.first += part.count * run.stride;
                run.count -= part.count;
                n += part.count;
            }
            f(run, n - at.first, kernel::prefetch_distance(run.first, next.first));
            n += run.count;
            all = next;
        }
    }
}

/// One row of a head as it is stored, or loaded.
template <class Rows, class T>
read_as<Rows, T> const* row_of(Rows const& rows, row_range const& at, [[maybe_unused]] T* loaded) {
    if constexpr (loaded_rows<Rows>) {
        rows.load(at, loaded, index_t{0});
        return loaded;
    } else {
        return rows.place(at.batch, at.head, at.first, 0);
    }
}

/// The addresses of some rows of a head that lie in pages, each by its number in `at`.
template <class Rows, index_t Most>
class row_addresses {
    using element = element_of_rows<Rows>;

public:
    /// At most `Most` rows.
    row_addresses(Rows const& rows, row_range const& at) {
        index_t n = 0;
        for (index_t position = at.first; position < at.last && n < Most;) {
            auto const run = rows_from(rows, at.batch, at.head, position);
            index_t const count = std::min({run.count, at.last - position, Most - n});
            for (index_t r = 0; r < count; ++r) first_[n++] = run.first + r * run.stride;
            position += count;
        }
    }
    FOVEA_INLINE element const* operator()(index_t r) const { return first_[r] + skipped_; }

    /// Without some features at the beginning of each row.
    void skip(index_t features) { skipped_ = features; }

private:
    c_array<element const*, Most> first_;
    index_t skipped_ = 0;
};
/// The addresses of some rows of any source: of at most `Most` rows, or of rows_at_once that are loaded to `loaded`.
template <index_t Most, class Rows, class T>
auto addresses_of(Rows const& rows, row_range const& at, [[maybe_unused]] T* loaded) {
    if constexpr (loaded_rows<Rows>) {
        index_t const stride = loaded_stride<T>(rows.extent(3));
        rows.load(at, loaded, stride);
        return strided_rows<T const>{loaded, stride};
    } else if constexpr (evenly_spaced<Rows>) {
        return strided_rows<element_of_rows<Rows> const>{rows.place(at.batch, at.head, at.first, 0), rows.stride(2)};
    } else {
        return row_addresses<Rows, Most>(rows, at);
    }
}

}  // namespace fovea::FOVEA_SET::driver
