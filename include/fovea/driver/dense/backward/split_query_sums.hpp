// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tasks of a gradient pass: key heads, or runs of their rows where heads are few, with sums of keys of their own.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/driver/dense/dense_loop.hpp>
#include <fovea/driver/run/workspace.hpp>

namespace fovea::FOVEA_SET::driver {

/// The sums of keys of all tasks of a call, (tasks, sums), where key heads are split; joined in the order of the tasks.
template <class Blocks, class Call>
class split_query_sums {
    using T = typename Blocks::number;
    static constexpr index_t pieces = 16;  // of a head, for as many threads

public:
    split_query_sums(Call const& call, arena& memory)
        : call_(call),
          splits_(call.query_splits()),
          size_(splits_ > 1 ? Blocks::sums_of(call) : 0),
          sums_(memory.template take<T>(call.all_key_heads() * splits_ * size_)) {}

    T* of_task(index_t task) const { return splits_ > 1 ? sums_ + task * size_ : nullptr; }

    /// After the last task: the gradients of keys and values.
    template <class Executor>
    void finish(Executor const& executor, workspace& scratch) const {
        if (splits_ == 1 || !call_.backward.wanted.of_keys) return;
        index_t const key_heads = call_.all_key_heads();
        auto const last_of = [&](index_t key_head) {
            return call_.head_group_at((key_head + 1) * call_.per_key_head - 1);
        };
        auto const for_pieces = [&](index_t numbers, auto const& f) {
            executor.run(key_heads * pieces, [&](index_t n, index_t) {
                index_t const piece = n % pieces;
                f(n / pieces, index_range{piece * numbers / pieces, (piece + 1) * numbers / pieces});
            });
        };
        for_pieces(size_, [&](index_t key_head, index_range some) {
            T* const into = of_task(key_head * splits_);
            for (index_t s = 1; s < splits_; ++s)
                for (index_t i = some.first; i < some.last; ++i) into[i] += into[s * size_ + i];
        });
        if constexpr (Blocks::finishes_keys)
            executor.run(call_.tables.shares(), [&](index_t share, index_t worker) {
                for (index_t task = call_.tables.first_task(share); task < call_.tables.first_task(share + 1); ++task) {
                    if (task % splits_ != 0) continue;
                    auto& memory = scratch.worker(worker);
                    memory.clear();
                    Blocks(call_, memory, 1, of_task(task)).finish_joined(last_of(task / splits_));
                }
            });
        for_pieces(call_.keys, [&](index_t key_head, index_range some) {
            Blocks::write(call_, of_task(key_head * splits_), last_of(key_head), some);
        });
    }

private:
    Call const& call_;
    index_t splits_, size_;
    T* sums_;
};

/// Where a gradient pass leaves what is unfinished: rows are finished, the sums of keys are not where other tasks have
/// some.
template <class T>
struct partial_key_sums : no_partial_sums {
    T* of_keys = nullptr;
};

/// The dense loop of a gradient pass over rows that share keys, whose gradients are summed over all of them: each key
/// head is one task, or a few where there are few, and so are several that share sums of tables.
template <class Pass, class Executor>
void run_gradient_loop(typename Pass::call_type const& call, Executor const& executor, workspace& scratch) {
    dense_loop<Pass> const loop(call);
    index_t const splits = call.query_splits(), per = call.per_key_head;
    split_query_sums<typename Pass::head_blocks, typename Pass::call_type> const sums(call, scratch.shared());
    auto const run_rows = [&](arena& memory, index_range head_groups, index_range row_blocks, auto* sums_of_keys) {
        loop.run_heads(memory, head_groups, row_blocks, {0, loop.key_blocks()}, {{}, sums_of_keys});
    };
    executor.run(call.tables.shares(), [&](index_t share, index_t worker) {
        auto& memory = scratch.worker(worker);
        index_range const tasks{call.tables.first_task(share), call.tables.first_task(share + 1)};
        if (splits == 1) {
            memory.clear();
            run_rows(memory, index_range{tasks.first * per, tasks.last * per}, call.row_blocks(0), sums.of_task(0));
        }
        for (index_t task = tasks.first; task < tasks.last && splits > 1; ++task) {
            index_t const key_head = task / splits;
            memory.clear();
            run_rows(memory, index_range{key_head * per, (key_head + 1) * per},
                     call.row_blocks(splits - 1 - task % splits), sums.of_task(task));
        }
    });
    sums.finish(executor, scratch);
    call.tables.join();
}

}  // namespace fovea::FOVEA_SET::driver
