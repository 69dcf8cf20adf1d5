// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Software prefetch: at a fixed distance ahead of what is read, or line by line between other work.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>
#include <fovea/simd/architecture.hpp>

#include <algorithm>
#include <limits>

namespace fovea::FOVEA_SET::kernel {

/// How many rows of `row_bytes` bytes ahead of the one that is read to prefetch, where rows are read one after the
/// other, each from front to back: far enough for the memory latency.
constexpr index_t rows_ahead(index_t row_bytes) {
    constexpr index_t reach = 12288;  // bytes
    return (reach + row_bytes) / std::max(row_bytes, cache_line);
}
inline constexpr index_t most_rows_ahead = rows_ahead(cache_line);

/// Prefetches the lines of `Count` elements. More lines are on their way to the L2 cache than to the L1 cache, whose
/// misses the loads beside them wait for too. An address past the last row does no harm.
template <index_t Count, class Element>
FOVEA_INLINE void prefetch_to_l2(Element const* from) {
    constexpr index_t all = Count * static_cast<index_t>(sizeof(Element));
    for (index_t byte = 0; byte < all; byte += cache_line)
        __builtin_prefetch(reinterpret_cast<char const*>(from) + byte, 0, 2);
}

/// Rows in memory, whatever their elements.
struct strided_lines {
    void const* first;
    index_t rows, row_bytes, stride_bytes;
};

/// The cache lines of rows that are read some time later, prefetched one at a time between other work. After the last
/// it is prefetched again, which costs less than asking: a microkernel would be compiled twice.
class prefetch_queue {
public:
    static constexpr index_t usual_steps_per_line = 16;

    prefetch_queue() = default;
    /// The lines of these rows, one for every `steps_per_line` steps of a microkernel.
    explicit prefetch_queue(strided_lines const& all, index_t steps_per_line = usual_steps_per_line) {
        index_t const per_row = ceil_div(all.row_bytes, cache_line);
        if (all.rows <= 0 || per_row <= 0) return;
        *this = {static_cast<char const*>(all.first),
                 all.rows,
                 per_row,
                 per_row,
                 cache_line,
                 all.stride_bytes - per_row * cache_line,
                 std::max<index_t>(steps_per_line, 1)};
    }
    /// The same of `count` rows of so many bytes, each where a list says.
    prefetch_queue(char const* const* rows, index_t count, index_t row_bytes, index_t steps_per_line) {
        if (count <= 0) return;
        *this = prefetch_queue(strided_lines{rows[0], count, row_bytes, 0}, steps_per_line);
        listed_ = rows;
    }

    index_t steps_per_line() const { return steps_per_line_; }
    bool empty() const { return rows_ == 0; }

    template <class Arch>
    FOVEA_INLINE void prefetch_line() {
        __builtin_prefetch(at_, 0, arch::prefetch_locality<Arch>);
        at_ += step_;
        if (--in_row_ <= 0) end_row();
    }

private:
    prefetch_queue(char const* at, index_t rows, index_t in_row, index_t per_row, index_t step, index_t gap,
                   index_t steps_per_line)
        : at_(at),
          rows_(rows),
          in_row_(in_row),
          per_row_(per_row),
          step_(step),
          gap_(gap),
          steps_per_line_(steps_per_line) {}

    FOVEA_INLINE void end_row() {
        in_row_ = per_row_;
        if (--rows_ > 0) at_ = listed_ != nullptr ? *++listed_ : at_ + gap_;
        else *this = {at_ - step_, 0, endless, endless, 0, 0, steps_per_line_};
    }

    static constexpr index_t endless = std::numeric_limits<index_t>::max();
    static constexpr char nothing[cache_line] = {};

    char const* at_ = nothing;
    index_t rows_ = 0, in_row_ = endless, per_row_ = endless, step_ = 0, gap_ = 0;  // lines; bytes
    index_t steps_per_line_ = usual_steps_per_line;
    char const* const* listed_ = nullptr;  // the place of the row, where places are listed
};

}  // namespace fovea::FOVEA_SET::kernel
