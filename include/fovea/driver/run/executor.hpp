// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who runs the tasks of a call: the calling thread, threads of the library, or an executor of the user.
#pragma once

#include <fovea/core/executor.hpp>
#include <fovea/core/index.hpp>
#include <fovea/core/integer_argument.hpp>
#include <fovea/driver/run/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <type_traits>
#include <utility>

namespace fovea {

/// serial: everything in the calling thread.
struct serial_t {
    using executor_tag = void;
    FOVEA_TAGGED constexpr index_t workers() const { return 1; }
    template <class Task>
    FOVEA_TAGGED void run(index_t count, Task const& task) const {
        for (index_t i = 0; i < count; ++i) task(i, index_t{0});
    }
    FOVEA_TAGGED void bulk(index_t n, auto const& f) const {
        for (index_t i = 0; i < n; ++i) f(i);
    }
};
inline constexpr serial_t serial{};

/// threads(n): n threads, the calling one among them; tasks are taken in order as threads become free.
///
/// The others are those of one pool of the program: started when they are first asked for, kept until it ends, and
/// shared by calls that run at once. n is clamped to 1 ... max(64, four for each core): 0 is the calling thread alone,
/// never all cores, which is what std::thread::hardware_concurrency() says where it is known.
/// Results have the same bits for any n. An exception from a task ends the call and is thrown from it.
/// Cost: a microsecond or two to begin and end while the threads are awake; nothing is allocated.
class threads {
public:
    using executor_tag = void;
    FOVEA_TAGGED explicit threads(integer_argument n)
        : count_(std::clamp<index_t>(n, 1, driver::thread_pool::most())) {}
    FOVEA_TAGGED index_t workers() const { return count_; }

    template <class Task>
    FOVEA_TAGGED void run(index_t count, Task const& task) const {
        if (count_ == 1 || count <= 1) return serial.run(count, task);
        driver::thread_pool::run(count_, count, task);
    }
    FOVEA_TAGGED void bulk(index_t n, auto const& f) const {
        run(n, [&](index_t i, index_t) { f(i); });
    }

private:
    index_t count_;
};

/// bulk_executor(workers, bulk): an executor from a function bulk(n, f), such as the parallel loop of another library.
///
///     bulk_executor(8, [](index_t n, auto const& f) { tbb::parallel_for(index_t{0}, n, f); })
template <class Bulk>
class bulk_executor {
    static constexpr bool callable = std::is_invocable_v<Bulk const&, index_t, detail::some_call const&>;
    static_assert(
        callable,
        "fovea: bulk_executor(workers, function) calls function(n, f), which is not mutable, with an f of any "
        "type: write auto const& f");

public:
    FOVEA_TAGGED bulk_executor(index_t workers, Bulk bulk) : workers_(workers), bulk_(std::move(bulk)) {}
    FOVEA_TAGGED index_t workers() const { return workers_; }
    FOVEA_TAGGED void bulk(index_t n, auto const& f) const {
        if constexpr (callable) bulk_(n, f);
    }

private:
    index_t workers_;
    Bulk bulk_;
};

}  // namespace fovea

namespace fovea::FOVEA_SET::driver {

/// Numbers the workers of an executor that has bulk(n, f), whose calls take tasks until none is left.
///
/// A worker is a call that has begun: no two have one number, whatever threads they share and however they are nested.
/// Tasks that the executor has left undone when it returns are done then; so a call that returns is complete.
template <class Executor>
class bulk_runner {
public:
    using executor_tag = void;
    explicit bulk_runner(Executor const& executor)
        : executor_(executor),
          workers_(std::clamp<index_t>(static_cast<index_t>(executor.workers()), 1, thread_pool::most())) {}
    index_t workers() const { return workers_; }

    /// Errors: what a task throws, when no task runs any more; what the executor throws.
    template <class Task>
    void run(index_t count, Task const& task) const {
        index_t const wanted = std::min(workers_, count);
        if (wanted <= 1) return serial.run(count, task);
        region tasks(count, task);
        std::atomic<index_t> begun{0};
        executor_.bulk(wanted, [&](auto const&) noexcept {
            if (index_t const worker = begun.fetch_add(1, std::memory_order_relaxed); worker < wanted)
                tasks.join(worker);
        });
        tasks.work(0);
        tasks.rethrow();
    }

private:
    Executor const& executor_;
    index_t workers_;
};

/// The numbering of the workers of an executor: by itself, or by an adaptor for those of other libraries.
template <executor Executor>
constexpr decltype(auto) runner_of(Executor const& executor) {
    if constexpr (detail::numbers_workers<Executor>) return (executor);
    else return bulk_runner<Executor>(executor);
}

}  // namespace fovea::FOVEA_SET::driver
