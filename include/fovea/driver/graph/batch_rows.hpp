// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of one batch element as plain addresses, for loops over edges, and their prefetching ahead of the edges that
// read them.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/row_run.hpp>
#include <fovea/kernel/prefetch.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace fovea::FOVEA_SET::driver {

/// The distance between the heads of one position, 0 where rows are not a plain view.
template <class Rows>
index_t head_stride(Rows const& rows) {
    if constexpr (evenly_spaced<Rows>) return rows.stride(1);
    else return 0;
}

/// The bytes of one position, all heads.
template <class Rows>
index_t position_bytes(Rows const& rows) {
    return rows.extent(1) * rows.extent(3) * static_cast<index_t>(sizeof(*rows.place(0, 0, 0, 0)));
}

/// The rows of one batch: of a view only what a loop over pairs needs, so that it stays in registers.
template <class Rows>
class batch_rows {
public:
    using pointer = decltype(std::declval<Rows const&>().place(0, 0, 0, 0));

    batch_rows(Rows const& rows, index_t batch) : rows_(&rows), batch_(batch) {}
    FOVEA_INLINE pointer operator()(index_t head, index_t position) const {
        return rows_->place(batch_, head, position, 0);
    }

private:
    Rows const* rows_;
    index_t batch_;
};

template <evenly_spaced Rows>
class batch_rows<Rows> {
public:
    using pointer = decltype(std::declval<Rows const&>().place(0, 0, 0, 0));

    batch_rows(Rows const& rows, index_t batch)
        : first_(rows.place(batch, 0, 0, 0)), head_(rows.stride(1)), position_(rows.stride(2)) {}
    FOVEA_INLINE pointer operator()(index_t head, index_t position) const {
        return first_ + (head * head_ + position * position_);
    }

private:
    pointer first_;
    index_t head_, position_;  // strides, elements
};

/// Edges between prefetching what is gathered for a pair and using it.
inline constexpr index_t edges_ahead = 24;

/// Whether positions are prefetched, of which `bytes` each are gathered in no order: long rows the hardware prefetches
/// by itself, and of few positions the caches keep most.
constexpr bool prefetches_positions(index_t bytes, index_t positions) {
    constexpr index_t cached_bytes = index_t{1} << 22, long_rows = 2048;
    return bytes < long_rows && positions * bytes > cached_bytes;
}

/// The memory of one position of some rows, for all heads, prefetched some time before it is used.
template <class Rows>
class position_prefetch {
public:
    position_prefetch(Rows const& rows, index_t batch, index_t features) : rows_(&rows), batch_(batch) {
        if constexpr (evenly_spaced<Rows>) {
            index_t const joined = head_stride(rows) == features ? rows.extent(1) : 1;
            index_t const bytes = joined * features * size;
            first_ = reinterpret_cast<char const*>(rows.place(batch, 0, 0, 0));
            step_ = rows.stride(2) * size;
            runs_ = rows.extent(1) / std::max<index_t>(joined, 1);
            run_step_ = joined * rows.stride(1) * size;
            auto const in_line = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(first_) % line);
            bool const regular = step_ % line == 0 && run_step_ % line == 0;  // rows that all begin alike in their line
            if (regular) first_ -= in_line;
            lines_ = ceil_div(bytes + (regular ? in_line : line - 1), line);
        }
        features_ = features;
    }

    /// Always inlined: GCC takes a function that only prefetches for one without effect.
    FOVEA_INLINE void prefetch(index_t position) const {
        if constexpr (evenly_spaced<Rows>) {
            char const* run = first_ + position * step_;
            for (index_t r = runs_; r > 0; --r, run += run_step_)
                for (index_t l = 0; l < lines_; ++l) __builtin_prefetch(run + l * line);
        } else {
            for (index_t h = 0; h < rows_->extent(1); ++h) {
                auto const* const row = rows_->place(batch_, h, position, 0);
                for (index_t c = 0; c < features_; c += line / size) __builtin_prefetch(row + c);
            }
        }
    }

private:
    static constexpr index_t line = cache_line;
    static constexpr index_t size = sizeof(decltype(*std::declval<Rows const&>().place(0, 0, 0, 0)));

    Rows const* rows_;
    index_t batch_;
    index_t features_ = 0;
    char const* first_ = nullptr;
    index_t step_ = 0, run_step_ = 0;  // bytes
    index_t runs_ = 0, lines_ = 0;     // of one position, and of a run
};

}  // namespace fovea::FOVEA_SET::driver
