// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// compile_time --rounds N --unit INCLUDE_DIR COMPILER FLAG... -- SOURCE...: what the compiler takes for each source,
// header only and with FOVEA_COMPILED: processor time, the most memory it has in use, bytes of text.
//
// Time is also given as a multiple of what the source named `include` takes with the headers in INCLUDE_DIR, those of
// an earlier commit, where they are there: seconds say nothing on a shared machine. Each is measured beside its unit;
// rounds go through all sources, and the least time of each counts.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct cost {
    double seconds = std::numeric_limits<double>::infinity();  // of the processor
    double megabytes = 0;                                      // the most that one process had in use at a time
    bool compiled = false;

    void take(cost const& again) {
        seconds = std::min(seconds, again.seconds);
        megabytes = std::max(megabytes, again.megabytes);
        compiled = again.compiled;
    }
};

cost run(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t const child = fork();
    if (child == 0) {
        execvp(arguments[0], arguments.data());
        _exit(127);
    }
    int status = 1;
    rusage used{};
    if (child < 0 || wait4(child, &status, 0, &used) != child) return {};
    auto const seconds = [](timeval t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return {seconds(used.ru_utime) + seconds(used.ru_stime), static_cast<double>(used.ru_maxrss) / 1024, status == 0};
}

/// Kilobytes of code in an object, as `size` counts them; 0 where there is none.
double text_of(fs::path const& object) {
    double bytes = 0;
    if (auto* const counted = popen(("size " + object.string() + " | tail -n 1").c_str(), "r")) {
        if (std::fscanf(counted, "%lf", &bytes) != 1) bytes = 0;
        pclose(counted);
    }
    return bytes / 1024;
}

struct variant {
    std::string source;
    cost unit{}, header_only{}, compiled{};
    double header_only_text = 0, compiled_text = 0;
};

}  // namespace

int main(int count, char** values) {
    std::vector<std::string> command;
    std::vector<variant> variants;
    std::string unit_headers;
    int rounds = 1;
    bool behind = false;
    for (int i = 1; i < count; ++i) {
        std::string const word = values[i];
        if (word == "--rounds" && i + 1 < count) rounds = std::max(1, std::atoi(values[++i]));
        else if (word == "--unit" && i + 1 < count) unit_headers = values[++i];
        else if (word == "--") behind = true;
        else if (behind) variants.push_back({word});
        else command.push_back(word);
    }
    auto const object = fs::temp_directory_path() / ("fovea_compile_time_" + std::to_string(getpid()) + ".o");
    command.insert(command.end(), {"-c", "-o", object.string()});
    auto const with = [&](std::vector<std::string> words, auto const&... more) {
        (words.push_back(more), ...);
        return run(std::move(words));
    };
    auto const include = std::find_if(variants.begin(), variants.end(),
                                      [](auto const& each) { return fs::path(each.source).stem() == "include"; });
    bool const has_unit = fs::is_directory(unit_headers) && include != variants.end();
    auto unit_command = command;
    if (has_unit) unit_command.insert(unit_command.begin() + 1, "-I" + unit_headers);  // found before today's
    for (int round = 0; round < rounds; ++round) {
        std::fprintf(stderr, "round %d of %d\n", round + 1, rounds);
        for (auto& each : variants) {
            if (has_unit) each.unit.take(with(unit_command, include->source));
            each.header_only.take(with(command, each.source));
            each.header_only_text = text_of(object);
            each.compiled.take(with(command, "-DFOVEA_COMPILED=1", each.source));
            each.compiled_text = text_of(object);
        }
    }
    fs::remove(object);
    std::printf("%-12s | %8s %8s %6s %6s | %8s %8s %6s\n", "", "seconds", "multiple", "MB", "KB", "compiled",
                "multiple", "KB");
    bool all = !variants.empty();
    auto const multiple = [&](cost const& of, cost const& unit) { return has_unit ? of.seconds / unit.seconds : 0; };
    for (auto const& each : variants) {
        bool const compiled = each.header_only.compiled && each.compiled.compiled && (!has_unit || each.unit.compiled);
        std::printf("%-12s | %8.1f %8.2f %6.0f %6.0f | %8.1f %8.2f %6.0f%s\n", fs::path(each.source).stem().c_str(),
                    each.header_only.seconds, multiple(each.header_only, each.unit), each.header_only.megabytes,
                    each.header_only_text, each.compiled.seconds, multiple(each.compiled, each.unit),
                    each.compiled_text, compiled ? "" : "  did not compile");
        all = all && compiled;
    }
    if (has_unit)
        std::printf("multiples are of `include` with the headers in %s, %.1f s\n", unit_headers.c_str(),
                    include->unit.seconds);
    else std::printf("no multiples: there are no headers to compare with in '%s'\n", unit_headers.c_str());
    return all ? 0 : 1;
}
