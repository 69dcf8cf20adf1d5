// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts of a call, which all threads of somebody else's pool enter at once, each for its own.
#pragma once

#include <fovea/core/errors.hpp>
#include <fovea/core/integer_argument.hpp>
#include <fovea/driver/run/executor.hpp>
#include <fovea/driver/run/workspace.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace fovea::FOVEA_SET {

/// part(i, n): part i of a call of which n threads run one each; together they leave the bits of the whole call.
///
///     attend(part(i, n), spec, ...)                   as an executor; it allocates, or takes a workspace of its own
///     attend(part(i, n, memory, bytes), spec, ...)    in memory of the caller's, and allocates nothing
///
/// No part waits for another, nor reads what another writes: all have to be done before the result is complete.
/// `bytes` is workspace_size(spec, ...) or more, for each part. Keys of one head are never divided among parts.
/// Errors: shape_error unless 0 <= i < n, and, before anything is written, where there are fewer bytes. At compile
/// time, for calls whose parts would have to wait: gradients, projections, finishes, relative_values, column_sums,
/// save.
class part {
public:
    using executor_tag = void;
    part(integer_argument i, integer_argument n, void* memory = nullptr, std::size_t bytes = 0)
        : index_(i), count_(n), memory_(static_cast<std::byte*>(memory)), bytes_(memory == nullptr ? 0 : bytes) {
        if (index_ < 0 || index_ >= count_)
            raise_error(
                shape_error("part(i, n): i is ", index_, " and must be at least 0 and below n, which is ", count_));
    }
    index_t workers() const { return count_; }

    /// The tasks of this part, in the calling thread, whose worker is the first one.
    template <class Task>
    void run(index_t count, Task const& task) const {
        for (index_t i = index_; i < count; i += count_) task(i, index_t{0});
    }

    bool has_memory() const { return memory_ != nullptr; }
    /// A workspace in its memory, from the first cache line on.
    workspace in_memory(bool measures) const {
        std::size_t const skipped = std::min(skipped_bytes(), bytes_);
        return {memory_ + skipped, bytes_ - skipped, measures};
    }
    void require_memory(std::size_t needed) const {
        if (bytes_ < skipped_bytes() + needed)
            raise_error(shape_error("part(i, n, memory, bytes): bytes is ", bytes_, " and must be at least ",
                                    skipped_bytes() + needed, ", see workspace_size"));
    }

private:
    std::size_t skipped_bytes() const { return -reinterpret_cast<std::uintptr_t>(memory_) % arena::alignment; }

    index_t index_, count_;
    std::byte* memory_;
    std::size_t bytes_;
};

}  // namespace fovea::FOVEA_SET

namespace fovea::FOVEA_SET::driver {

template <class Executor>
inline constexpr bool is_part = std::same_as<Executor, part>;

/// The executor of tasks whose results later tasks of the call read: each part runs all of them itself.
template <class Executor>
decltype(auto) whole(Executor const& executor) {
    if constexpr (is_part<Executor>) return (serial);
    else return (executor);
}

/// How many workers of an executor have scratch memory of a call.
template <class Executor>
index_t workers_of_call(Executor const& executor) {
    if constexpr (is_part<Executor>) return 1;
    else return executor.workers();
}

/// The sentence for a call in which parts would have to wait for each other; true for all others.
template <class Executor, bool Independent = false>
constexpr bool runs_in_parts() {
    constexpr bool sound = Independent || !is_part<Executor>;
    static_assert(
        sound,
        "fovea: no part(i, n) waits for another, as it would in gradients, projections, finishes, relative_values, "
        "column_sums, save and calls over ranks: pass an executor for these, such as bulk_executor(workers, function)");
    return sound;
}

}  // namespace fovea::FOVEA_SET::driver
