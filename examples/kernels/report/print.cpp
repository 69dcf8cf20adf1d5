// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels/report/results.hpp"

#include <cstdarg>
#include <cstdio>
#include <sstream>

namespace report {
namespace {

/// A number in a column; a dash where it is not known.
void column(int width, int digits, double value) {
    if (value > 0) std::printf(" %*.*f", width, digits, value);
    else std::printf(" %*s", width, "-");
}

void print_name(kernel const& each) { std::printf("%-15s %-5s", each.name.c_str(), each.type.c_str()); }

/// "score sum(q * k), pairs kv_idx <= q_idx, softmax, weighted_sum"
std::string in_one_line(std::string const& formula) {
    std::istringstream lines(formula);
    std::string text;
    for (std::string line; std::getline(lines, line);) {
        std::string const what = line.substr(0, line.find(' '));
        std::string const value = line.substr(line.find_first_not_of(' ', what.size()));
        if (what == "pairs" && value == "true") continue;
        text += (text.empty() ? "" : "; ") + (what == "pairs" ? "where " : what == "score" ? "" : what + " ") + value;
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

void print_levels(std::vector<std::string> const& levels, char const* title) {
    std::printf("  %s", title);
    for (auto const& name : levels) std::printf(" %*s", 8, name.c_str());
}

void print_units(results const& all) {
    auto const numbers = [&](double figures::* member, double unit, std::map<std::string, figures> const& on) {
        std::printf("  %*s", 3, "");
        for (auto const& name : all.built) {
            auto const found = on.find(name);
            column(static_cast<int>(name.size() > 8 ? name.size() : 8), 1,
                   found == on.end() ? 0 : found->second.*member / unit);
        }
    };
    std::printf("\n%-21s", "");
    print_levels(all.built, "KiB");
    print_levels(all.built, "  s");
    std::puts("");
    std::map<std::string, figures> sums;
    for (auto const& each : all.kernels) {
        print_name(each);
        numbers(&figures::text, 1024, each.on);
        numbers(&figures::compile_seconds, 1, each.on);
        std::puts("");
        for (auto const& [name, f] : each.on) {
            sums[name].text += f.text;
            sums[name].compile_seconds += f.compile_seconds;
        }
    }
    std::map<std::string, figures> shared;
    for (auto const& each : all.shared) {
        shared[each.level].text += each.text;
        shared[each.level].compile_seconds += each.seconds;
    }
    for (auto const& [title, of] : {std::pair{"all units", &sums}, std::pair{"engine, headers", &shared}}) {
        std::printf("%-21s", title);
        numbers(&figures::text, 1024, *of);
        numbers(&figures::compile_seconds, 1, *of);
        std::puts("");
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

}  // namespace

void print(results const& all) {
    std::puts("\nWhat each kernel computes: its score, where it counts, the weights of a row, the result.\n");
    print_formulas(all);
    std::puts("\nCode and constants of each unit, and the seconds of the processor that compiling it took.");
    print_units(all);
    std::puts("\nSpeed of one thread at each level; plain: a loop that stores each row of scores, compiled with the same\n"
              "flags, in GFLOP/s, and how many times as long it takes. Operations are counted in calls/work.hpp.\n");
    for (auto const& each : all.levels)
        std::printf("%-12s %s: peak %.0f GFLOP/s in f32, %.0f in f64\n", each.name.c_str(), each.vectors.c_str(),
                    each.peak_f32 / 1e9, each.peak_f64 / 1e9);
    print_speeds(all);
}

}  // namespace report
