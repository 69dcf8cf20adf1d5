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

/// Seconds of sampling per repetition; set by --seconds.
inline double sampling_seconds = 0.1;

/// measure: times the call for one repetition and sets the counters; T is the type arithmetic is done in.
///
/// The machine is measured right before and right after, so that ratios hold where the clock does not.
/// With a second call (plain dense attention), `over_plain` is the ratio of the two times, taken in turn.
template <class T, class Call, class... Plain>
void measure(benchmark::State& state, work const& done, Call call, Plain... plain) {
    auto const report = [&state](char const* name, double value) { state.counters[name] = value; };
    for (auto _ : state) {
        yardstick::around const peak([&] { return yardstick::fma_peak<T>(done.threads); });
        auto const reads = done.bytes > 0;
        yardstick::around const bandwidth([&] { return reads ? yardstick::read_bandwidth(done.threads) : 0.0; });
        auto const seconds = yardstick::time_in_turn(sampling_seconds, call, plain...);
        state.SetIterationTime(seconds[0]);
        report("gflops", done.flops / seconds[0] / 1e9);
        report("of_peak", done.flops / seconds[0] / peak.mean());
        if (reads) report("of_bandwidth", done.bytes / seconds[0] / bandwidth.mean());
        if (done.terms > 0) report("terms_per_second", done.terms / seconds[0]);
        if (done.edges > 0) report("edges_per_second", done.edges / seconds[0]);
        if constexpr (sizeof...(Plain) == 1) report("over_plain", seconds[0] / seconds[1]);
        report("threads", done.threads);
    }
}

}  // namespace bench
