// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace yardstick {

/// The middle of the samples (the upper one of two).
inline double median(std::vector<double> samples) {
    auto const middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::nth_element(samples.begin(), middle, samples.end());
    return *middle;
}

/// Seconds of one call.
template <class Call>
double time_once(Call&& call) {
    auto const start = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The mean of a quantity of the machine before (at construction) and after (at `mean`) what it judges.
template <class Measure>
class around {
public:
    explicit around(Measure measure) : measure_(measure), before_(measure_()) {}
    double mean() const { return (before_ + measure_()) / 2; }

private:
    Measure measure_;
    double before_;
};

/// stopwatch: the time of one call of something, from many samples.
///
/// A sample is as many calls as take at least 0.2 ms, so that short calls are not drowned by the clock.
template <class Call>
class stopwatch {
public:
    explicit stopwatch(Call call) : call_(std::move(call)) {
        double const first = time_once(call_);  // pays for page faults and cold code
        if (first > 0.01) return;
        while (time_once([&] { repeat(); }) < 2e-4) calls_ *= 2;
    }

    void sample() {
        samples_.push_back(time_once([&] { repeat(); }) / static_cast<double>(calls_));
        spent_ += samples_.back() * static_cast<double>(calls_);
    }

    double spent() const { return spent_; }
    std::size_t samples() const { return samples_.size(); }
    double seconds() const { return median(samples_); }

private:
    void repeat() {
        for (std::size_t i = 0; i < calls_; ++i) call_();
    }

    Call call_;
    std::size_t calls_ = 1;
    double spent_ = 0;
    std::vector<double> samples_;
};

/// The median time of calls sampled for about `budget` seconds, at least so many times each. The calls take
/// turns, so that a disturbance of the machine meets all of them.
template <std::size_t AtLeast = 3, class... Call>
std::vector<double> time_in_turn(double budget, Call... calls) {
    auto const run = [budget](auto&&... watch) {
        while (((watch.spent() < budget || watch.samples() < AtLeast) || ...)) (watch.sample(), ...);
        return std::vector<double>{watch.seconds()...};
    };
    return run(stopwatch<Call>(std::move(calls))...);
}

}  // namespace yardstick
