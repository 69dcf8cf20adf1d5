// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "stations/report.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace tour {

void heading(int number, std::string const& title) { std::printf("\n\n--- %d. %s ---\n", number, title.c_str()); }

namespace {

/// The next blank where a line may end: before a bar, after a semicolon or a colon.
std::size_t next_break(std::string const& text, std::size_t from) {
    for (std::size_t i = from + 1; i + 1 < text.size(); ++i)
        if (text[i] == ' ' && (text[i + 1] == '|' || text[i - 1] == ';' || text[i - 1] == ':')) return i;
    return text.size();
}

}  // namespace

std::string wrapped(std::string const& text, std::string const& indentation) {
    constexpr std::size_t width = 104;
    std::string result;
    for (std::size_t start = 0, used = 0; start < text.size();) {
        auto const end = next_break(text, start);
        if (used > 0 && used + end - start > width) {
            result += "\n" + indentation;
            used = 0;
            ++start;  // the blank
        }
        result += text.substr(start, end - start);
        used += end - start;
        start = end;
    }
    return result;
}

void print(findings const& found) {
    std::printf("\n  %s\n", found.what.c_str());
    std::string const indentation(16, ' ');
    std::printf("    spec        %s\n", wrapped(found.spec, indentation).c_str());
    std::istringstream lines(found.plan);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("score") || line.starts_with("loop"))
            std::printf("    %s%s\n", line.substr(0, 12).c_str(), wrapped(line.substr(12), indentation).c_str());
    std::printf("    error       %.1e at most in results up to %.3g, against the reference in double\n", found.error,
                found.largest);
    std::printf("    speed       %.1f GFLOP/s, %.2f of the peak", found.flops_per_second / 1e9, found.of_peak);
    if (found.over_unfused > 0) std::printf(", %.1f times as fast as step by step with Eigen", found.over_unfused);
    std::puts("");
    std::fflush(stdout);
}

}  // namespace tour
