// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// compile_time COMPILER FLAG... -- SOURCE...: what the compiler takes for each source: time on the
// clock and on the processor, and the most memory it has in use.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

struct cost {
    double seconds = 0, processor_seconds = 0;
    double megabytes = 0;  // the most that one process had in use at a time
    bool compiled = false;
};

cost run(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    auto const start = std::chrono::steady_clock::now();
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
    return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
            seconds(used.ru_utime) + seconds(used.ru_stime), static_cast<double>(used.ru_maxrss) / 1024, status == 0};
}

}  // namespace

int main(int count, char** values) {
    std::vector<std::string> command, sources;
    bool behind = false;
    for (int i = 1; i < count; ++i) {
        if (std::string(values[i]) == "--") behind = true;
        else (behind ? sources : command).push_back(values[i]);
    }
    command.insert(command.end(), {"-c", "-o", "/dev/null"});
    std::printf("%-16s %8s %8s %8s\n", "variant", "seconds", "CPU s", "MB");
    bool all = !sources.empty();
    for (auto const& source : sources) {
        auto whole = command;
        whole.push_back(source);
        cost const spent = run(std::move(whole));
        std::printf("%-16s %8.1f %8.1f %8.0f%s\n", std::filesystem::path(source).stem().c_str(), spent.seconds,
                    spent.processor_seconds, spent.megabytes, spent.compiled ? "" : "  did not compile");
        std::fflush(stdout);
        all = all && spent.compiled;
    }
    return all ? 0 : 1;
}
