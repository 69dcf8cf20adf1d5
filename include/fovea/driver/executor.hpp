// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/index.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace fovea {

/// An executor runs task(index, worker) for all indices below a count; workers are numbered from 0.
template <class E>
concept executor = requires(E const& e) {
    typename E::executor_tag;
    { e.workers() } -> std::convertible_to<index_t>;
};

/// serial: everything in the calling thread.
struct serial_t {
    using executor_tag = void;
    constexpr index_t workers() const { return 1; }
    template <class Task>
    void run(index_t count, Task const& task) const {
        for (index_t i = 0; i < count; ++i) task(i, index_t{0});
    }
};
inline constexpr serial_t serial{};

/// threads(n): n threads, the calling one among them; tasks are taken in order as threads become free.
///
/// Results have the same bits for any n. An exception from a task ends the call and is thrown from it.
class threads {
public:
    using executor_tag = void;
    explicit threads(int n) : count_(std::max(1, n)) {}
    index_t workers() const { return count_; }

    template <class Task>
    void run(index_t count, Task const& task) const {
        if (count_ == 1) return serial.run(count, task);
        std::atomic<index_t> next{0};
        std::exception_ptr failure;
        std::mutex guard;
        auto const work = [&](index_t worker) {
            try {
                for (index_t i; (i = next.fetch_add(1)) < count;) task(i, worker);
            } catch (...) {
                next = count;
                std::scoped_lock const lock(guard);
                if (!failure) failure = std::current_exception();
            }
        };
        {
            std::vector<std::jthread> others;
            for (index_t w = 1; w < std::min<index_t>(count_, count); ++w) others.emplace_back(work, w);
            work(0);
        }
        if (failure) std::rethrow_exception(failure);
    }

private:
    index_t count_;
};

}  // namespace fovea
