// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels/report/results.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <utility>

namespace report {
namespace {

/// A number in a column; a dash where it is not known.
void column(int width, int digits, double value) {
    if (value > 0) std::printf(" %*.*f", width, digits, value);
    else std::printf(" %*s", width, "-");
}

void print_name(kernel const& each) { std::printf("%-15s %-5s", each.name.c_str(), each.type.c_str()); }

/// "sum(q * k); where kv_idx <= q_idx; softmax; weighted_sum"
std::string in_one_line(std::string const& formula) {
    std::istringstream lines(formula);
    std::string text;
    for (std::string line; std::getline(lines, line);) {
        std::string const what = line.substr(0, line.find(' '));
        std::string const value = line.substr(line.find_first_not_of(' ', what.size()));
        if (what == "pairs" && value == "true") continue;
        text += (text.empty() ? "" : "; ") + std::string(what == "pairs" ? "where " : "") + value;
    }
    return text;
}

void print_formulas(results const& all) {
    std::string before;
    for (auto const& each : all.kernels) {
        if (each.name != before && each.library == all.kernels.front().library)
            std::printf("%-15s %s\n", each.name.c_str(), in_one_line(each.formula).c_str());
        before = each.name;
    }
}

int width_of(std::string const& level) { return static_cast<int>(std::max<std::size_t>(level.size(), 7)); }

/// A member of the figures of each level.
void columns(std::vector<std::string> const& levels, std::map<std::string, figures> const& on,
             double figures::* member, double unit) {
    std::printf("   ");
    for (auto const& name : levels) {
        auto const found = on.find(name);
        column(width_of(name), 1, found == on.end() ? 0 : found->second.*member / unit);
    }
}

void print_sizes(std::vector<std::string> const& levels, std::map<std::string, figures> const& on) {
    columns(levels, on, &figures::text, 1024);
    columns(levels, on, &figures::compile_seconds, 1);
    std::puts("");
}

void print_heads_of_sizes(std::vector<std::string> const& levels) {
    int width = 0;
    for (auto const& name : levels) width += width_of(name) + 1;
    std::printf("\n%-21s   %*s   %*s\n%-15s %-5s", "", width, "KiB", width, "seconds", "kernel", "type");
    for (int group = 0; group < 2; ++group) {
        std::printf("   ");
        for (auto const& name : levels) std::printf(" %*s", width_of(name), name.c_str());
    }
    std::puts("");
}

void print_units(results const& all) {
    print_heads_of_sizes(all.built);
    std::map<std::string, figures> sums, shared;
    for (auto const& each : all.kernels) {
        print_name(each);
        print_sizes(all.built, each.on);
        for (auto const& [name, f] : each.on) {
            sums[name].text += f.text;
            sums[name].compile_seconds += f.compile_seconds;
        }
    }
    for (auto const& each : all.shared) {
        shared[each.level].text += each.text;
        shared[each.level].compile_seconds += each.seconds;
    }
    for (auto const& [title, of] : {std::pair{"all units", &sums}, std::pair{"engine, headers", &shared}}) {
        std::printf("%-21s", title);
        print_sizes(all.built, *of);
    }
}

void print_speeds(results const& all) {
    std::printf("\n%-21s", "");
    for (auto const& each : all.levels) std::printf("  %-30s", each.name.c_str());
    std::printf("\n%-15s %-5s", "kernel", "type");
    for (std::size_t i = 0; i < all.levels.size(); ++i)
        std::printf("  %8s %7s %6s %6s", "GFLOP/s", "of peak", "plain", "times");
    std::puts("");
    for (auto const& each : all.kernels) {
        print_name(each);
        for (auto const& on : all.levels) {
            auto const found = each.on.find(on.name);
            figures const f = found == each.on.end() ? figures{} : found->second;
            bool const timed = f.seconds > 0;
            std::printf(" ");
            column(8, 1, timed ? f.gflops() : 0);
            column(7, 2, timed ? f.of_peak() : 0);
            column(6, 2, timed ? f.plain_gflops() : 0);
            column(6, 1, timed ? f.over_plain() : 0);
        }
        std::puts("");
    }
}

/// Of kernels that do little but read: how fast they do.
void print_reads(results const& all) {
    std::puts("\nWhere reading keys and values is the limit: GB/s, and the share of what one core can read.");
    for (auto const& each : all.kernels)
        for (auto const& on : all.levels) {
            auto const found = each.on.find(on.name);
            if (found == each.on.end() || found->second.bytes == 0) continue;
            figures const& f = found->second;
            print_name(each);
            std::printf("  %-12s %5.1f GB/s, %.2f of %.1f\n", on.name.c_str(), f.bytes / f.seconds / 1e9,
                        f.of_bandwidth(), f.bandwidth / 1e9);
        }
}

}  // namespace

void print(results const& all) {
    std::puts("\nWhat each kernel computes: its score, where it counts, the weights of a row, the result.\n");
    print_formulas(all);
    std::puts("\nCode and constants of each unit, and the seconds of the processor that compiling it took.");
    print_units(all);
    std::puts("\nSpeed of one thread at each level, in the processor's time. plain: GFLOP/s of a loop that stores");
    std::puts("a row of scores, compiled with the same flags; times: how many times as long it takes. The peak is");
    std::puts("the greatest measured between calls; examples/kernels/calls/work.hpp says what counts as operations.\n");
    for (auto const& each : all.levels)
        std::printf("%-12s %s: peak %.0f GFLOP/s in f32, %.0f in f64\n", each.name.c_str(), each.vectors.c_str(),
                    each.peak_f32 / 1e9, each.peak_f64 / 1e9);
    print_speeds(all);
    print_reads(all);
}

}  // namespace report
