// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread pool as a program may have one already, and what makes it an executor.
#pragma once

#include <fovea/driver/executor.hpp>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace how_to {

using fovea::index_t;

//! [pool]
/// A pool as programs have one: bulk(n, f) runs f(0) ... f(n - 1), each in one thread, and returns when all have ended.
class pool {
public:
    explicit pool(int size) {
        for (int i = 0; i < size; ++i) threads_.emplace_back([this] { work(); });
    }
    ~pool() {
        {
            std::scoped_lock const lock(guard_);
            ending_ = true;
        }
        wake_.notify_all();
        for (auto& t : threads_) t.join();
    }
    int size() const { return static_cast<int>(threads_.size()); }

    void bulk(int n, std::function<void(int)> const& f) {
        std::unique_lock lock(guard_);
        f_ = &f;
        next_ = 0;
        count_ = open_ = n;
        wake_.notify_all();
        done_.wait(lock, [&] { return open_ == 0; });
        f_ = nullptr;
    }
    //! [pool]

private:
    void work() {
        std::unique_lock lock(guard_);
        while (true) {
            wake_.wait(lock, [&] { return ending_ || (f_ && next_ < count_); });
            if (ending_) return;
            int const i = next_++;
            auto const& f = *f_;
            lock.unlock();
            f(i);
            lock.lock();
            if (--open_ == 0) done_.notify_one();
        }
    }

    std::vector<std::thread> threads_;
    std::mutex guard_;
    std::condition_variable wake_, done_;
    std::function<void(int)> const* f_ = nullptr;
    int next_ = 0, count_ = 0, open_ = 0;
    bool ending_ = false;
};

//! [executor]
/// What fovea takes for an executor: run(count, task) calls task(index, worker) for all indices below the count.
class on_pool {
public:
    using executor_tag = void;
    explicit on_pool(pool& threads) : pool_(&threads) {}
    index_t workers() const { return pool_->size(); }

    template <class Task>
    void run(index_t count, Task const& task) const {
        std::atomic<index_t> next{0};
        std::exception_ptr failure;
        std::mutex guard;
        pool_->bulk(pool_->size(), [&](int worker) {
            try {
                for (index_t i; (i = next.fetch_add(1)) < count;) task(i, index_t{worker});
            } catch (...) {  // a pool would end the program
                next = count;
                std::scoped_lock const lock(guard);
                failure = std::current_exception();
            }
        });
        if (failure) std::rethrow_exception(failure);
    }

private:
    pool* pool_;
};
static_assert(fovea::executor<on_pool>);
//! [executor]

}  // namespace how_to
