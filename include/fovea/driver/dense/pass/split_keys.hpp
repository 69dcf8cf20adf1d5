// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Split KV: the keys of a few queries divided among threads, and the partial results merged.
#pragma once

#include <fovea/driver/dense/pass/online.hpp>

namespace fovea::FOVEA_SET::driver {

/// Split KV, for few rows: each split of the keys by itself, and then all are merged.
template <class T, class Arch, class Executor>
void run_split_keys(attention_call<plan::key_lanes_blocking<T, Arch>> const& call, Executor const& executor,
                    workspace& scratch) {
    using pass = online<plan::key_lanes_blocking<T, Arch>>;
    dense_loop<pass> const loop(call);
    auto const& splits = call.planned.splits;
    index_t const rows = round_up(call.rows, pass::blocking::rows), head_groups = call.batches * call.head_groups;
    index_t const width = call.value_width(), state_bytes = call.sums.state_bytes;
    index_t const at_once = is_part<Executor> ? 1 : head_groups;  // a part has one head after the other
    T* const sums = scratch.shared().template take<T>(at_once * splits.count() * rows * width);
    char* const states = scratch.shared().template take<char>(at_once * splits.count() * rows * state_bytes);
    auto const run_heads = [&](auto const& workers, index_t first_head) {
        workers.run(scratch.tasks(at_once * splits.count()), [&](index_t task, index_t worker) {
            auto& memory = scratch.worker(worker);
            memory.clear();
            index_t const n = first_head + task / splits.count(), split = task % splits.count();
            loop.run_heads(memory, {n, n + 1}, {0, 1}, {splits.first(split), splits.last(split)},
                           {sums + task * rows * width, states + task * rows * state_bytes, state_bytes});
        });
        if (scratch.measures()) return;
        workers.run(at_once, [&](index_t n, index_t) {
            index_t const first = n * splits.count() * rows;
            for (index_t r = 0; r < call.rows; ++r)
                call.sums.merge_splits(call, call.coordinates(call.head_group_at(first_head + n), r),
                                       {.sums = sums + (first + r) * width,
                                        .states = states + (first + r) * state_bytes,
                                        .splits = splits.count(),
                                        .sum_stride = rows * width,
                                        .state_stride = rows * state_bytes,
                                        .width = width});
        });
    };
    if constexpr (is_part<Executor>)
        executor.run(scratch.tasks(head_groups), [&](index_t n, index_t) { run_heads(serial, n); });
    else run_heads(executor, 0);
}

}  // namespace fovea::FOVEA_SET::driver
