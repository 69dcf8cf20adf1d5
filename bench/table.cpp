// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/table.hpp"

#include "bench/yardstick/machine.hpp"

#include <cstdio>

namespace bench {
namespace {

/// "attend/dense/f32/h:8/n:2048/d:64" in its parts.
struct parts {
    std::string who, family, type, sizes;

    explicit parts(std::string const& name) {
        auto const first = name.find('/'), second = name.find('/', first + 1), third = name.find('/', second + 1);
        who = name.substr(0, first);
        family = name.substr(first + 1, second - first - 1);
        type = name.substr(second + 1, third - second - 1);
        sizes = name.substr(third + 1);
        for (char& c : sizes)
            if (c == '/') c = ' ';
    }
};

std::string format(char const* pattern, double value) {
    char text[64];
    std::snprintf(text, sizeof text, pattern, value);
    return text;
}

std::string duration(double milliseconds) {
    return milliseconds >= 1 ? format("%.2f ms", milliseconds) : format("%.2f us", 1e3 * milliseconds);
}

/// The counters that only some families have, as words.
std::string remarks(benchmark::UserCounters const& counters) {
    std::string text;
    auto const add = [&](char const* name, double unit, char const* pattern) {
        if (auto const found = counters.find(name); found != counters.end())
            text += "  " + format(pattern, found->second / unit);
    };
    add("of_bandwidth", 1, "%.2f of the bandwidth");
    add("terms_per_second", 1e9, "%.1f G terms/s");
    add("edges_per_second", 1e6, "%.0f M edges/s");
    add("over_plain", 1, "%.2f times plain");
    return text;
}

}  // namespace

bool table::ReportContext(Context const& context) {
    std::printf("machine   %d cores, %s\n", context.cpu_info.num_cpus, yardstick::architecture().c_str());
    std::printf("peak      %.0f GFLOP/s in f32, %.0f in f64, of one core\n", yardstick::fma_peak<float>() / 1e9,
                yardstick::fma_peak<double>() / 1e9);
    std::printf("memory    %.1f GB/s read by one core, %.1f by two\n\n", yardstick::read_bandwidth() / 1e9,
                yardstick::read_bandwidth(2) / 1e9);
    std::printf("%-8s %-10s %-4s %-40s %12s %9s %8s\n", "", "family", "type", "sizes", "time", "GFLOP/s", "of peak");
    return true;
}

void table::ReportRuns(std::vector<Run> const& runs) {
    for (Run const& run : runs)
        if (run.aggregate_name == "median" || (runs.size() == 1 && run.run_type == Run::RT_Iteration)) print(run);
}

void table::print(Run const& run) {
    std::string const& name = run.run_name.function_name;
    parts const row(name);
    double const time = run.GetAdjustedRealTime();
    milliseconds_[name] = time;
    if (row.family != family_) std::puts("");
    family_ = row.family;

    auto const counter = [&run](char const* key) {
        auto const found = run.counters.find(key);
        return found == run.counters.end() ? 0.0 : static_cast<double>(found->second);
    };
    std::string text = remarks(run.counters);
    if (auto const fused = milliseconds_.find("attend" + name.substr(row.who.size()));
        row.who == "unfused" && fused != milliseconds_.end())
        text += "  " + format("%.1f times attend", time / fused->second);
    std::printf("%-8s %-10s %-4s %-40s %12s %9.1f %8.2f%s\n", row.who.c_str(), row.family.c_str(), row.type.c_str(),
                row.sizes.c_str(), duration(time).c_str(), counter("gflops"), counter("of_peak"), text.c_str());
    std::fflush(stdout);
}

void json::ReportRuns(std::vector<Run> const& runs) {
    auto renamed = runs;
    for (Run& run : renamed) {
        benchmark::BenchmarkName plain;
        plain.function_name = run.run_name.function_name;
        run.run_name = plain;
    }
    JSONReporter::ReportRuns(renamed);
}

}  // namespace bench
