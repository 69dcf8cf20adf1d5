// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernel_report OUT.json: what the example set of kernels computes, what it costs to build, and how fast it is.
#include "kernels/calls/libraries.hpp"
#include "kernels/report/results.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>

int main(int count, char** values) try {
    if (count != 2) {
        std::fprintf(stderr, "usage: %s OUT.json\n", values[0]);
        return 2;
    }
    auto const here = std::filesystem::absolute(values[0]).parent_path();
    auto all = report::gather((here / "units.txt").string());
    for (auto const& level : all.built) {
        if (calls::runs_here(level)) report::time_level(values[0], level, all);
        else std::fprintf(stderr, "%-12s is not used on this processor\n", level.c_str());
    }
    report::print(all);
    report::write_json(all, values[1]);
    return EXIT_SUCCESS;
} catch (std::exception const& e) {
    std::fprintf(stderr, "kernel_report: %s\n", e.what());
    return EXIT_FAILURE;
}
