// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/family.hpp"
#include "bench/peer/graph.hpp"
#include "bench/peer/peer.hpp"
#include "bench/table.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

namespace {

/// Takes --seconds=<x> out of the arguments; the rest is for Google Benchmark.
void take_seconds(std::vector<char*>& arguments) {
    constexpr char const flag[] = "--seconds=";
    std::erase_if(arguments, [&](char const* argument) {
        if (std::strncmp(argument, flag, sizeof flag - 1) != 0) return false;
        bench::sampling_seconds = std::strtod(argument + sizeof flag - 1, nullptr);
        return true;
    });
}

}  // namespace

/// fovea_bench [--seconds=0.1] [--benchmark_filter=<regex>] [--benchmark_repetitions=5] [--benchmark_out=<file>]
int main(int count, char** values) {
#ifdef FOVEA_BENCH_UNOPTIMISED
    std::fputs("built without optimisation: the times below say nothing\n", stderr);
#endif
    char out[] = "--benchmark_out=" FOVEA_BENCH_OUT;
    char repetitions[] = "--benchmark_repetitions=5";
    std::vector<char*> arguments{values[0], out, repetitions};  // the defaults; the last of two flags counts
    arguments.insert(arguments.end(), values + 1, values + count);
    take_seconds(arguments);

    int remaining = static_cast<int>(arguments.size());
    benchmark::Initialize(&remaining, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(remaining, arguments.data())) return EXIT_FAILURE;
    bench::family::register_all();
    benchmark::AddCustomContext("peers", bench::peer::versions());
    std::vector<std::string> peers;
    for (auto const& library : bench::peer::libraries<float>()) peers.push_back(library.name);
    for (auto const& library : bench::peer::graph_libraries()) peers.push_back(library.name);
    bench::table table(std::move(peers));
    bench::json json;
    benchmark::RunSpecifiedBenchmarks(&table, &json);
    benchmark::Shutdown();
}
