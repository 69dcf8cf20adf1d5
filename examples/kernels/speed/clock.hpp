// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/yardstick/stopwatch.hpp"

#include <ctime>
#include <vector>

namespace speed {

/// Seconds of the processor that this thread has had. Other programs that want the processor as well do not count, as
/// they would on the clock; what they do to its caches and frequency does.
inline double processor_seconds() {
    std::timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The median of the seconds of a call that takes a millisecond or so, sampled for about `budget` seconds. The first
/// call, which pays for page faults and cold code, counts only where it takes all of that.
template <class Call>
double seconds_of(double budget, Call const& call) {
    auto const sample = [&] {
        double const start = processor_seconds();
        call();
        return processor_seconds() - start;
    };
    double spent = sample();
    if (spent > budget) return spent;
    std::vector<double> samples;
    for (spent = 0; spent < budget; spent += samples.back()) samples.push_back(sample());
    return yardstick::median(samples);
}

/// The middle of some measurements of the machine: one alone may have been disturbed.
inline double steady(double (*measure)(int threads)) {
    std::vector<double> samples;
    for (int i = 0; i < 5; ++i) samples.push_back(measure(1));
    return yardstick::median(samples);
}

}  // namespace speed
