// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread pool as a program may have one already.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace how_to {

//! [pool]
class pool {
public:
    explicit pool(int size);
    ~pool();
    int size() const { return static_cast<int>(threads_.size()); }

    /// Runs f(0) ... f(n - 1), each in one of the threads, and returns when all have ended.
    void bulk(int n, std::function<void(int)> const& f);
    //! [pool]

private:
    void work();

    std::vector<std::thread> threads_;
    std::mutex guard_;
    std::condition_variable wake_, done_;
    std::function<void(int)> const* f_ = nullptr;
    int next_ = 0, count_ = 0, open_ = 0;
    bool ending_ = false;
};

inline pool::pool(int size) {
    for (int i = 0; i < size; ++i) threads_.emplace_back([this] { work(); });
}

inline pool::~pool() {
    {
        std::scoped_lock const lock(guard_);
        ending_ = true;
    }
    wake_.notify_all();
    for (auto& t : threads_) t.join();
}

inline void pool::bulk(int n, std::function<void(int)> const& f) {
    std::unique_lock lock(guard_);
    f_ = &f;
    next_ = 0;
    count_ = open_ = n;
    wake_.notify_all();
    done_.wait(lock, [&] { return open_ == 0; });
    f_ = nullptr;
}

inline void pool::work() {
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

}  // namespace how_to
