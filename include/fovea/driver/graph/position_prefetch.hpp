// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>
#include <fovea/kernel/prefetch.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace fovea::FOVEA_SET::driver {

/// The distance between the heads of one position, 0 where rows are not a plain view.
template <class Rows>
index_t head_stride(Rows const& rows) {
    if constexpr (requires { rows.stride(1); }) return rows.stride(1);
    else return 0;
}

/// The memory of one position of some rows, for all heads, prefetched some time before it is used.
template <class Rows>
class position_prefetch {
public:
    position_prefetch(Rows const& rows, index_t batch, index_t features) : rows_(rows), batch_(batch) {
        if constexpr (is_strided) {
            index_t const joined = head_stride(rows) == features ? rows.extent(1) : 1;
            index_t const bytes = joined * features * size;
            first_ = reinterpret_cast<char const*>(rows.place(batch, 0, 0, 0));
            step_ = rows.stride(2) * size;
            runs_ = rows.extent(1) / std::max<index_t>(joined, 1);
            run_step_ = joined * rows.stride(1) * size;
            auto const in_line = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(first_) % line);
            bool const regular = step_ % line == 0 && run_step_ % line == 0;  // rows that all begin alike in their line
            if (regular) first_ -= in_line;
            last_ = round_up(bytes + (regular ? in_line : line - 1), line);
        }
        features_ = features;
    }

    /// Always inlined: GCC takes a function that only prefetches for one without effect.
    FOVEA_INLINE void fetch(index_t position) const {
        if constexpr (is_strided) {
            char const* run = first_ + position * step_;
            for (index_t r = 0; r < runs_; ++r, run += run_step_)
#pragma GCC unroll 4
                for (index_t at = 0; at < last_; at += line) __builtin_prefetch(run + at);
        } else {
            for (index_t h = 0; h < rows_.extent(1); ++h) {
                auto const* const row = rows_.place(batch_, h, position, 0);
                for (index_t c = 0; c < features_; c += line / size) __builtin_prefetch(row + c);
            }
        }
    }

private:
    static constexpr bool is_strided = requires(Rows const& rows) { rows.stride(1); };
    static constexpr index_t line = kernel::cache_line;
    static constexpr index_t size = sizeof(decltype(*std::declval<Rows const&>().place(0, 0, 0, 0)));

    Rows const& rows_;
    index_t batch_;
    index_t features_ = 0;
    char const* first_ = nullptr;
    index_t step_ = 0, run_step_ = 0, runs_ = 0, last_ = 0;
};

}  // namespace fovea::FOVEA_SET::driver
