// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Software prefetch: at a fixed distance ahead of what is read, or line by line between other work.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>
#include <fovea/simd/architecture.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace fovea::FOVEA_SET::kernel {

inline constexpr index_t cache_line = 64;  // bytes

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

/// The cache lines of rows that are read some time later, prefetched a few at a time between other work.
class prefetch_queue {
public:
    static constexpr index_t usual_steps_per_line = 16;

    prefetch_queue() = default;
    /// The lines of these rows, one for every `steps_per_line` steps of a microkernel, rounded down to a power of two.
    explicit prefetch_queue(strided_lines const& all, index_t steps_per_line = usual_steps_per_line)
        : steps_log2_(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(steps_per_line))) - 1),
          at_(static_cast<char const*>(all.first)),
          per_row_(ceil_div(all.row_bytes, cache_line)),
          in_row_(per_row_),
          left_(all.rows * per_row_),
          gap_(all.stride_bytes - per_row_ * cache_line) {}

    /// Prefetches the lines that are due while a microkernel takes `steps` steps.
    template <class Arch>
    void prefetch_beside(index_t steps) {
        for (index_t lines = std::min(left_, (steps >> steps_log2_) + 1); lines > 0; --lines, --left_)
            prefetch_line<Arch>();
    }
    /// Prefetches one line at this step of a microkernel, if one is due.
    template <class Arch>
    FOVEA_INLINE void prefetch_at(index_t step) {
        if ((step & ((index_t{1} << steps_log2_) - 1)) != 0 || left_ == 0) return;
        prefetch_line<Arch>();
        --left_;
    }
    bool empty() const { return left_ == 0; }

private:
    /// Callers count: GCC would decrement left_ and in_row_ as one vector, whose load waits for the stores of both.
    template <class Arch>
    FOVEA_INLINE void prefetch_line() {
        __builtin_prefetch(at_, 0, arch::prefetch_locality<Arch>);
        at_ += cache_line;
        if (--in_row_ > 0) return;
        in_row_ = per_row_;
        at_ += gap_;
    }

    int steps_log2_ = 0;
    char const* at_ = nullptr;
    index_t per_row_ = 0, in_row_ = 0, left_ = 0, gap_ = 0;  // lines; bytes
};

/// Nothing to prefetch at the steps of a microkernel.
struct no_prefetch {
    template <class Arch>
    FOVEA_INLINE void prefetch_at(index_t) const {}
};

/// Calls multiply(lines), which runs a microkernel of so many steps: with the queue, to prefetch at its steps, or with
/// no_prefetch where there is nothing to prefetch. Where a smaller register tile is not compiled for that (`AtSteps`),
/// the lines that are due are prefetched before it.
template <bool AtSteps, class Arch, class Multiply>
FOVEA_INLINE void multiply_and_prefetch(prefetch_queue& next, index_t steps, Multiply const& multiply) {
    if constexpr (AtSteps)
        if (!next.empty()) return multiply(next);
    next.prefetch_beside<Arch>(steps);
    multiply(no_prefetch{});
}

}  // namespace fovea::FOVEA_SET::kernel
