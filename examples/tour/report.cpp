// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tour/report.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace tour {

void heading(int number, std::string const& title) { std::printf("\n\n--- %d. %s ---\n", number, title.c_str()); }

std::string wrapped(std::string const& spec, std::string const& indentation) {
    constexpr std::size_t width = 96;
    std::string text;
    for (std::size_t start = 0, used = 0; start < spec.size();) {
        auto const end = std::min(spec.find(" | ", start + 1), spec.size());
        if (used > 0 && used + end - start > width) {
            text += "\n" + indentation;
            used = 0;
            ++start;  // the blank before the bar
        }
        text += spec.substr(start, end - start);
        used += end - start;
        start = end;
    }
    return text;
}

void print(findings const& found) {
    std::printf("\n  %s\n", found.what.c_str());
    std::printf("    spec    %s\n", wrapped(found.spec, "            ").c_str());
    std::istringstream lines(found.plan);
    int shown = 0;
    for (std::string line; shown < 2 && std::getline(lines, line);)
        if (line.rfind("attention", 0) != 0 && !line.empty())
            std::printf("    %-7s %s\n", shown++ ? "" : "plan", line.c_str());
    std::printf("    error   %.1e at most, against the reference in double\n", found.error);
    std::printf("    speed   %.1f GFLOP/s, %.2f of the peak", found.flops_per_second / 1e9, found.of_peak);
    if (found.over_unfused > 0) std::printf(", %.1f times as fast as step by step with Eigen", found.over_unfused);
    std::puts("");
    std::fflush(stdout);
}

}  // namespace tour
