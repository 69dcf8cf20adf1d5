// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/table.hpp"

#include "bench/peer/peer.hpp"
#include "bench/yardstick/machine.hpp"

#include <fovea/simd/architecture.hpp>

#include <algorithm>
#include <cstdio>
#include <string>

namespace bench {
namespace {

/// "dense/f32/h:8/n:2048/d:64", or "train/dense/f32/...", in its parts.
struct parts {
    std::string family, type, sizes;

    explicit parts(std::string name) {
        if (name.starts_with("train/")) name[5] = ' ';
        auto const first = name.find('/'), second = name.find('/', first + 1);
        family = name.substr(0, first);
        type = name.substr(first + 1, second - first - 1);
        sizes = name.substr(second + 1);
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
    add("edges_per_second", 1e6, "%.1f M edges/s");
    add("over_forward", 1, "%.2f of forward");
    add("over_plain", 1, "%.2f of plain");
    add("over_hand", 1, "%.2f of by hand");
    add("of_one_thread", 1, "%.2f times one thread");
    return text;
}

int width_of(std::string const& peer) { return std::max(9, static_cast<int>(peer.size())); }

double counter(benchmark::BenchmarkReporter::Run const& run, char const* key) {
    auto const found = run.counters.find(key);
    return found == run.counters.end() ? 0.0 : static_cast<double>(found->second);
}

}  // namespace

bool table::ReportContext(Context const& context) {
    std::printf("machine   %d cores, %s\n", context.cpu_info.num_cpus, yardstick::architecture().c_str());
    std::printf("kernels   %s\n", std::string(fovea::arch::best::name).c_str());
    std::printf("peak      %.0f GFLOP/s in f32, %.0f in f64, of one core\n", yardstick::fma_peak<float>() / 1e9,
                yardstick::fma_peak<double>() / 1e9);
    std::printf("memory    %.1f GB/s read by one core, %.1f by two\n", yardstick::read_bandwidth() / 1e9,
                yardstick::read_bandwidth(2) / 1e9);
    std::printf("peers     times the time of fovea; %s\n\n", peer::versions().c_str());
    std::printf("%-12s %-5s %-28s %11s %8s %8s", "family", "type", "sizes", "time", "GFLOP/s", "of peak");
    for (auto const& peer : peers_) std::printf(" %*s", width_of(peer), peer.c_str());
    std::puts("");
    return true;
}

void table::ReportRuns(std::vector<Run> const& runs) {
    for (Run const& run : runs) {
        if (run.aggregate_name != "median" && (runs.size() > 1 || run.run_type != Run::RT_Iteration)) continue;
        std::string const& name = run.run_name.function_name;
        auto const slash = name.find('/');
        bool const trains = name.substr(0, slash) == "train";  // fovea again, in families of their own
        std::string const who = trains ? "attend" : name.substr(0, slash),
                          what = trains ? name : name.substr(slash + 1);
        if (!open_ || open_->what != what) {
            Finalize();
            open_ = line{what, {}, {}};
        }
        if (who == "attend") open_->attend = run;
        else open_->milliseconds[who] = run.GetAdjustedRealTime();
    }
}

void table::Finalize() {
    if (open_) print(*open_);
    open_.reset();
}

void table::print(line const& row) {
    parts const name(row.what);
    if (name.family != family_) std::puts("");
    family_ = name.family;
    std::printf("%-12s %-5s %-28s", name.family.c_str(), name.type.c_str(), name.sizes.c_str());
    if (row.attend) {
        std::printf(" %11s %8.1f %8.2f", duration(row.attend->GetAdjustedRealTime()).c_str(),
                    counter(*row.attend, "gflops"), counter(*row.attend, "of_peak"));
    } else {
        std::printf(" %11s %8s %8s", "-", "-", "-");
    }
    for (auto const& peer : peers_) {
        auto const found = row.milliseconds.find(peer);
        std::string text = "-";
        if (found != row.milliseconds.end())
            text = row.attend ? format("%.1f x", found->second / row.attend->GetAdjustedRealTime())
                              : duration(found->second);
        std::printf(" %*s", width_of(peer), text.c_str());
    }
    std::printf("%s\n", row.attend ? remarks(row.attend->counters).c_str() : "");
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
