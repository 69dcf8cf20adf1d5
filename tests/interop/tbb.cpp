// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls on the threads of oneTBB, where a thread that waits takes other tasks.
#include "interop/loops.hpp"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace fovea;

namespace {

auto const loop = [](index_t n, auto const& f) { tbb::parallel_for(index_t{0}, n, f); };
auto const simple = [](index_t n, auto const& f) {
    tbb::parallel_for(
        tbb::blocked_range<index_t>(0, n, 1),
        [&](auto const& range) {
            for (auto i = range.begin(); i != range.end(); ++i) f(i);
        },
        tbb::simple_partitioner());
};

/// Waits for something that comes from outside oneTBB; meanwhile the thread takes other tasks, amid this one.
void amid_a_task() {
    tbb::task_group group;
    auto outside = group.defer([] {});
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        auto const done = std::move(outside);
    });
    group.wait();
    later.join();
}

}  // namespace

TEST_CASE("calls on the threads of oneTBB", "[interop]") {
    tbb::global_control const more(tbb::global_control::max_allowed_parallelism, 4);  // whatever the machine has
    tbb::task_arena arena(4);
    auto const isolated = [](index_t n, auto const& f) { tbb::this_task_arena::isolate([&] { loop(n, f); }); };
    arena.execute([&] {
        loops::check([](int workers) { return bulk_executor(workers, loop); }, loop);
        loops::check([](int workers) { return bulk_executor(workers, simple); }, loop);
        loops::check([&](int workers) { return bulk_executor(workers, isolated); }, loop);
    });
    auto const in_arena = [&](index_t n, auto const& f) { arena.execute([&] { loop(n, f); }); };
    loops::check([&](int workers) { return bulk_executor(workers, in_arena); }, loop);
}

TEST_CASE("a thread takes tasks of a call amid another task of it", "[interop]") {
    tbb::task_arena arena(1);
    std::vector<std::atomic<int>> busy(4);
    int depth = 0, deepest = 0, shared = 0;  // of the only thread
    arena.execute([&] {
        auto const executor = bulk_executor(4, simple);
        driver::runner_of(executor).run(16, [&](index_t, index_t worker) {
            if (busy[static_cast<std::size_t>(worker)].fetch_add(1) != 0) ++shared;
            deepest = std::max(deepest, ++depth);
            amid_a_task();
            --depth;
            --busy[static_cast<std::size_t>(worker)];
        });
    });
    CHECK(deepest == 4);
    CHECK(shared == 0);

    auto const x = loops::numbers({2, 4, 60, 8});
    tensor<float, 4> result({2, 4, 60, 8}), expected({2, 4, 60, 8});
    loops::amid_a_row = nullptr;
    attend(loops::whole_rows, x, x, x, expected);
    int rows = 0;
    loops::amid_a_row = [&] {
        if (++rows % 25 == 0) amid_a_task();
    };
    workspace scratch;
    arena.execute([&] { attend(bulk_executor(4, simple), scratch, loops::whole_rows, x, x, x, result); });
    loops::amid_a_row = nullptr;
    CHECK(result.elements == expected.elements);
}

TEST_CASE("a group of oneTBB that is cancelled leaves no call undone", "[interop]") {
    auto const x = loops::numbers({2, 4, 60, 8});
    tensor<float, 4> result({2, 4, 60, 8}), expected({2, 4, 60, 8});
    attend(loops::fused, x, x, x, expected);
    tbb::task_group_context context;
    auto const cancelled =
        bulk_executor(3, [&](index_t n, auto const& f) { tbb::parallel_for(index_t{0}, n, f, context); });
    context.cancel_group_execution();
    attend(cancelled, loops::fused, x, x, x, result);
    CHECK(result.elements == expected.elements);
}
