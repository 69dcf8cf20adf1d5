// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/dense/row_tile.hpp>

namespace fovea::FOVEA_SET::driver {

/// Split KV, for few rows: each part of the keys by itself, and then all parts together.
template <class T, class Arch, class Executor>
void run_split_keys(row_call<T, Arch> const& call, Executor const& executor, workspace& scratch) {
    using tile = row_tile<T, Arch>;
    dense_loop<tile> const loop(call);
    auto const& parts = call.how.parts;
    index_t const rows = round_up(call.rows, tile::shape::rows), heads = call.batches * call.heads;
    index_t const width = call.value_width(), state_bytes = call.spec.state_bytes;
    T* const sums = scratch.shared().template take<T>(heads * parts.count() * rows * width);
    char* const states = scratch.shared().template take<char>(heads * parts.count() * rows * state_bytes);
    executor.run(heads * parts.count(), [&](index_t task, index_t worker) {
        auto& memory = scratch.worker(worker);
        memory.clear();
        index_t const head = task / parts.count(), part = task % parts.count();
        loop.run_heads(memory, {head, head + 1}, {0, 1}, {parts.first(part), parts.last(part)},
                       {sums + task * rows * width, states + task * rows * state_bytes, state_bytes});
    });
    executor.run(heads, [&](index_t head, index_t) {
        index_t const first = head * parts.count() * rows;
        for (index_t r = 0; r < call.rows; ++r)
            call.spec.join(call, call.facts(call.head(head), r),
                           {sums + (first + r) * width, states + (first + r) * state_bytes, parts.count(), rows * width,
                            rows * state_bytes, width});
    });
}

}  // namespace fovea::FOVEA_SET::driver
