// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/driver/thread_pool.hpp>

#include <algorithm>
#include <concepts>

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
    FOVEA_TAGGED constexpr index_t workers() const { return 1; }
    template <class Task>
    FOVEA_TAGGED void run(index_t count, Task const& task) const {
        for (index_t i = 0; i < count; ++i) task(i, index_t{0});
    }
};
inline constexpr serial_t serial{};

/// threads(n): n threads, the calling one among them; tasks are taken in order as threads become free.
///
/// The others are those of one pool of the program: started when they are first asked for, kept until it ends, and
/// shared by calls that run at once. Fewer than 1 counts as 1, more than 64 and four for each core as that.
/// Results have the same bits for any n. An exception from a task ends the call and is thrown from it.
/// Cost: a microsecond or two to begin and end while the threads are awake; nothing is allocated.
class threads {
public:
    using executor_tag = void;
    FOVEA_TAGGED explicit threads(int n) : count_(std::clamp<index_t>(n, 1, driver::thread_pool::most())) {}
    FOVEA_TAGGED index_t workers() const { return count_; }

    template <class Task>
    FOVEA_TAGGED void run(index_t count, Task const& task) const {
        if (count_ == 1 || count <= 1) return serial.run(count, task);
        driver::thread_pool::run(count_, count, task);
    }

private:
    index_t count_;
};

}  // namespace fovea
