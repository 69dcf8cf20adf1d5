// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads, a mutex and conditions of POSIX. <thread>, <mutex> and <condition_variable> are as much to compile as a
// tenth of the whole library, in every unit that includes it.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

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
            ::pthread_mutex_lock(&mutex_);
            locked_ = true;
        }
        void release() {
            locked_ = false;
            ::pthread_mutex_unlock(&mutex_);
        }

    private:
        friend class condition;
        ::pthread_mutex_t& mutex_;
        bool locked_ = false;
    };

private:
    ::pthread_mutex_t handle_ = PTHREAD_MUTEX_INITIALIZER;
};

/// What threads wait for that hold a mutex.
class condition {
public:
    condition() = default;
    condition(condition const&) = delete;
    condition& operator=(condition const&) = delete;

    template <class Predicate>
    void wait(mutex::lock& lock, Predicate const& done) {
        while (!done()) ::pthread_cond_wait(&handle_, &lock.mutex_);
    }
    void notify_one() { ::pthread_cond_signal(&handle_); }
    void notify_all() { ::pthread_cond_broadcast(&handle_); }

private:
    ::pthread_cond_t handle_ = PTHREAD_COND_INITIALIZER;
};

/// A thread that runs a function until it returns.
class thread {
public:
    /// False where no more threads can be had.
    template <class Self, void (*Run)(Self&)>
    bool start(Self& self) {
        auto const run = [](void* of) -> void* {
            Run(*static_cast<Self*>(of));
            return nullptr;
        };
        return ::pthread_create(&handle_, nullptr, run, &self) == 0;
    }
    void join() { ::pthread_join(handle_, nullptr); }

    /// Lets another thread run.
    static void yield() { ::sched_yield(); }
    /// How many can run at once, at least 1.
    static index_t hardware() {
        index_t const online = ::sysconf(_SC_NPROCESSORS_ONLN);
        return online < 1 ? 1 : online;
    }

private:
    ::pthread_t handle_{};
};

}  // namespace fovea::FOVEA_SET::driver
