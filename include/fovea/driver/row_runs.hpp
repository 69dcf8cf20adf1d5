// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows that are read in place, run by run, and how far ahead of each run to prefetch.
#pragma once

#include <fovea/core/row_run.hpp>
#include <fovea/driver/prefetch.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Calls f(run, offset, ahead) for some rows of a head in order: a run of them, how many come before it, and the
/// distance at which to prefetch while it is read. The last rows of a page prefetch the first of the next page.
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
            if (auto part = run; (part.count = within / at_once * at_once) > 0) {
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

/// The addresses of some rows of a head: of all of them in turn by their number in `at`.
template <class Rows, index_t Most>
class row_addresses {
    using element = std::remove_cvref_t<decltype(*std::declval<Rows const&>().place(0, 0, 0, 0))>;

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
    FOVEA_INLINE element const* operator()(index_t r) const { return first_[r]; }

private:
    element const* first_[Most];
};
/// The same for rows at equal distances.
template <evenly_spaced Rows, index_t Most>
class row_addresses<Rows, Most> {
    using element = std::remove_cvref_t<decltype(*std::declval<Rows const&>().place(0, 0, 0, 0))>;

public:
    row_addresses(Rows const& rows, row_range const& at)
        : first_(rows.place(at.batch, at.head, at.first, 0)), stride_(rows.stride(2)) {}
    FOVEA_INLINE element const* operator()(index_t r) const { return first_ + r * stride_; }

private:
    element const* first_;
    index_t stride_;
};

}  // namespace fovea::FOVEA_SET::driver
