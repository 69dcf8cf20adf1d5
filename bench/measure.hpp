// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/yardstick/machine.hpp"
#include "bench/yardstick/stopwatch.hpp"

#include <benchmark/benchmark.h>

namespace bench {

/// work: what one call does, counted on paper; what is zero is not reported.
struct work {
    double flops = 0;  // 2 (d_qk + d_v) per visible pair and head
    double bytes = 0;  // of keys and values, where reading them is the limit
    double terms = 0;  // elements under the sum of a pairwise score
    double edges = 0;  // of a graph
    int threads = 1;
};

/// versus: a call timed in turn with that of the row, and the counter for the ratio of the two times.
template <class Call>
struct versus {
    char const* counter;
    Call call;
    double ratio(double row, double other) const { return row / other; }
};

/// The row on one thread: its counter says how many times as fast the row is.
template <class Call>
struct versus_one_thread {
    Call call;
    static constexpr char const* counter = "of_one_thread";
    double ratio(double row, double other) const { return other / row; }
};

template <class Call>
versus<Call> over_plain(Call call) {
    return {"over_plain", call};
}
template <class Call>
versus<Call> over_hand(Call call) {
    return {"over_hand", call};
}
template <class Call>
versus_one_thread<Call> of_one_thread(Call call) {
    return {call};
}

/// Seconds of sampling per repetition; set by --seconds.
inline double sampling_seconds = 0.1;

/// measure: times the call for one repetition and sets the counters; T is the type arithmetic is done in.
///
/// The machine is measured right before and right after, so that ratios hold where the clock does not. What the row is
/// compared with takes turns with it, sample by sample.
template <class T, class Call, class... Versus>
void measure(benchmark::State& state, work const& done, Call call, Versus... others) {
    auto const report = [&state](char const* name, double value) { state.counters[name] = value; };
    for (auto _ : state) {
        yardstick::around const peak([&] { return yardstick::fma_peak<T>(done.threads); });
        auto const reads = done.bytes > 0;
        yardstick::around const bandwidth([&] { return reads ? yardstick::read_bandwidth(done.threads) : 0.0; });
        auto const seconds = yardstick::time_in_turn<1>(sampling_seconds, call, others.call...);
        state.SetIterationTime(seconds[0]);
        report("gflops", done.flops / seconds[0] / 1e9);
        report("of_peak", done.flops / seconds[0] / peak.mean());
        if (reads) report("of_bandwidth", done.bytes / seconds[0] / bandwidth.mean());
        if (done.terms > 0) report("terms_per_second", done.terms / seconds[0]);
        if (done.edges > 0) report("edges_per_second", done.edges / seconds[0]);
        [[maybe_unused]] std::size_t other = 1;
        (report(others.counter, others.ratio(seconds[0], seconds[other++])), ...);
    }
}

}  // namespace bench
