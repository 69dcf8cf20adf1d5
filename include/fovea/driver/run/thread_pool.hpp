// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The threads of the library: one pool of the program, which helps with the regions that calls begin.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>
#include <fovea/driver/run/threads.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <utility>

namespace fovea::FOVEA_SET::driver {

/// A mutex; `lock` keeps it until it ends.
class mutex {
public:
    mutex() = default;
    mutex(mutex const&) = delete;
    mutex& operator=(mutex const&) = delete;

    class lock {
    public:
        explicit lock(mutex& m) : mutex_(m.handle_) { acquire(); }
        lock(lock const&) = delete;
        lock& operator=(lock const&) = delete;
        ~lock() {
            if (locked_) release();
        }
        void acquire() {
            mutex_.lock();
            locked_ = true;
        }
        void release() {
            locked_ = false;
            mutex_.unlock();
        }

    private:
        friend class condition;
        system::mutex& mutex_;
        bool locked_ = false;
    };

private:
    system::mutex handle_;
};

/// A condition that threads wait for while they hold a mutex.
class condition {
public:
    condition() = default;
    condition(condition const&) = delete;
    condition& operator=(condition const&) = delete;

    template <class Predicate>
    void wait(mutex::lock& lock, Predicate const& done) {
        while (!done()) handle_.wait(lock.mutex_);
    }
    void notify_one() { handle_.notify_one(); }
    void notify_all() { handle_.notify_all(); }

private:
    system::condition handle_;
};

/// Tasks that are worked on together: task(index, worker) for all indices below a count, in order as threads become
/// free. It is an object of the thread that began it, and ends when all who joined have left.
///
/// Whoever works on it computes in the floating-point environment of who began it: rounding and flushing to zero do not
/// depend on the thread.
class region {
public:
    template <class Task>
    region(index_t count, Task const& task)
        : task_(&task),
          call_([](void const* t, index_t index, index_t worker) { (*static_cast<Task const*>(t))(index, worker); }),
          count_(count) {
        environment_.read();
    }

    /// Takes tasks until none is left; after an exception none is.
    void work(index_t worker) noexcept {
#ifdef __cpp_exceptions
        try {
            take(worker);
        } catch (...) {
            next_.store(count_, std::memory_order_relaxed);
            if (!failed_.test_and_set()) failure_ = std::current_exception();
        }
#else
        take(worker);
#endif
    }
    void help(index_t worker) noexcept {
        environment_.set();
        work(worker);
    }
    /// For a thread of somebody else's, which gets back the environment that it had.
    void join(index_t worker) noexcept {
        system::float_environment own;
        own.read();
        help(worker);
        own.set();
    }
    /// To be asked when all have left.
    void rethrow() const {
#ifdef __cpp_exceptions
        if (failure_) std::rethrow_exception(failure_);
#endif
    }

private:
    friend class thread_pool;

    void take(index_t worker) {
        for (index_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < count_;) call_(task_, i, worker);
    }

    void const* task_;
    void (*call_)(void const*, index_t, index_t);
    index_t count_;
    system::float_environment environment_;
    std::atomic<index_t> next_{0};
    std::atomic_flag failed_;
    std::exception_ptr failure_;

    // Written under the guard of the pool.
    index_t wanted_ = 0;              // helpers that may still join
    index_t joined_ = 1;              // the number of the next worker; 0 is who began it
    std::atomic<index_t> active_{0};  // helpers at work
    region* next_open_ = nullptr;
};

/// The threads of the program that help with regions: started when they are first asked for and kept.
///
/// Who begins a region works on it as well and waits only for helpers that have joined, so regions within tasks and
/// regions of several threads at once go on whatever the helpers do; those share them. A helper without work looks for
/// some for a few microseconds and then sleeps. After a fork the child starts threads of its own; the pool ends,
/// joining all, with the program. Nothing is allocated but threads.
class thread_pool {
public:
    /// The most threads of a call: four for each core, at least 64.
    static index_t most() {
        static index_t const limit = std::max<index_t>(4 * thread::hardware(), 64);
        return limit;
    }

    /// Runs all tasks with up to `workers` threads, the calling one among them. Errors: what a task throws.
    template <class Task>
    static void run(index_t workers, index_t count, Task const& task) {
        region tasks(count, task);
        if (auto* const pool = shared()) pool->work_together(tasks, std::min(workers, count) - 1);
        else tasks.work(0);
        tasks.rethrow();
    }

    thread_pool() {}
    thread_pool(thread_pool const&) = delete;
    thread_pool& operator=(thread_pool const&) = delete;
    ~thread_pool() {
        {
            mutex::lock const lock(guard_);
            ending_ = true;
            begun_.fetch_add(1);
        }
        wake_.notify_all();
        while (helper* const each = helpers_) {
            each->thread.join();
            helpers_ = each->next;
            delete each;
        }
    }

private:
    struct helper {
        driver::thread thread;
        helper* next;
    };
    static constexpr int spins = 64;  // checks for the next region, or the end of one, before a thread sleeps

    /// The pool of the program; none when the program is ending.
    static thread_pool* shared() {
        static constinit std::atomic<thread_pool*> pool{nullptr};  // outlives its owner
        struct owner {
            owner() {
                pool = new thread_pool;
                // The child has none of the threads, and may have a guard that nobody will release: it begins anew.
                thread::in_child_of_fork([] {
                    if (pool) pool = new thread_pool;
                });
            }
            ~owner() {
                auto* const last = pool.exchange(nullptr);
                if (!last->in_use()) delete last;  // a program may end amid a task
            }
        };
        static owner const owns;
        return pool;
    }

    void work_together(region& tasks, index_t wanted) {
        index_t asleep = 0;
        {
            mutex::lock const lock(guard_);
            grow(wanted);
            tasks.wanted_ = wanted;
            tasks.next_open_ = open_;
            open_ = &tasks;
            ++regions_;
            begun_.fetch_add(1);
            asleep = asleep_;
        }
        if (asleep <= wanted && asleep > 0) wake_.notify_all();
        else
            for (index_t i = 0; i < std::min(asleep, wanted); ++i) wake_.notify_one();
        tasks.work(0);
        mutex::lock lock(guard_);
        close(tasks);
        if (tasks.active_ > 0) {
            lock.release();
            for (int i = 0; i < spins && tasks.active_ > 0; ++i) thread::yield();
            lock.acquire();  // the last to leave has released the region when it releases the guard
            ++finishing_;
            left_.wait(lock, [&] { return tasks.active_ == 0; });
            --finishing_;
        }
        --regions_;
    }

    bool in_use() {
        mutex::lock const lock(guard_);
        return regions_ > 0;
    }

    /// Where no more threads can be had, those that there are do the work.
    void grow(index_t wanted) {
        for (; started_ < wanted; ++started_) {
            auto* const one = new (std::nothrow) helper{{}, helpers_};
            if (!one) return;
            if (!one->thread.start<thread_pool, help>(*this)) {
                delete one;
                return;
            }
            helpers_ = one;
        }
    }

    void close(region& tasks) {
        auto** place = &open_;
        while (*place != &tasks) place = &(*place)->next_open_;
        *place = tasks.next_open_;
    }

    /// A helper's life.
    static void help(thread_pool& pool) { pool.help(); }
    void help() noexcept {
        mutex::lock lock(guard_);
        while (!ending_) {
            auto* tasks = open_;
            while (tasks && tasks->wanted_ == 0) tasks = tasks->next_open_;
            if (tasks) {
                --tasks->wanted_;
                ++tasks->active_;
                index_t const worker = tasks->joined_++;
                lock.release();
                tasks->help(worker);
                lock.acquire();
                if (--tasks->active_ == 0 && finishing_ > 0) left_.notify_all();
                continue;
            }
            auto const seen = begun_.load();
            lock.release();
            for (int i = 0; i < spins && begun_ == seen; ++i) thread::yield();
            lock.acquire();
            ++asleep_;
            wake_.wait(lock, [&] { return begun_ != seen; });
            --asleep_;
        }
    }

    mutex guard_;
    condition wake_, left_;              // there is a new region; a region was left by its last helper
    std::atomic<std::size_t> begun_{0};  // regions
    region* open_ = nullptr;             // the latest first
    helper* helpers_ = nullptr;
    index_t started_ = 0, asleep_ = 0, finishing_ = 0, regions_ = 0;
    bool ending_ = false;
};

}  // namespace fovea::FOVEA_SET::driver
