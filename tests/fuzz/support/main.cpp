// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a target without libFuzzer, with any compiler: the stored corpus, then inputs that are drawn from a seed.
//
//     target [--seed N] [--runs N] [--artifacts DIR] [--all] [--show] FILE-OR-DIR...
//
// An input is a stored one with some bytes changed, or new. The one that ends the program is written to the artifacts'
// folder; given as the only FILE with --runs 0 it ends the program again. With --all each input runs in a process of
// its own, and what was found is listed at the end, once for each sentence; the inputs are crash-1, crash-2, ...
// --show prints the views of each call before it.
#include "support/bytes.hpp"
#include "support/fuzz.hpp"
#include "support/sanitizer.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

// A report of the sanitizers ends in the handler below.
extern "C" char const* __asan_default_options();
extern "C" char const* __ubsan_default_options();
extern "C" char const* __asan_default_options() { return "abort_on_error=1:allocator_may_return_null=1"; }
extern "C" char const* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

namespace {

namespace fs = std::filesystem;
using input = std::vector<std::uint8_t>;

constexpr std::size_t longest = 512;   // bytes of an input that is drawn
constexpr unsigned most_seconds = 20;  // that one input may take

input current;
std::string artifact = "crash";

constexpr int deadly[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};

/// The address of the instruction that a signal came from, where the system is known.
std::uintptr_t place_of([[maybe_unused]] void const* context) {
#if defined(__x86_64__) && defined(__linux__)
    return static_cast<std::uintptr_t>(static_cast<ucontext_t const*>(context)->uc_mcontext.gregs[REG_RIP]);
#else
    return 0;
#endif
}

/// Writes the current input with nothing but system calls, says where, and lets the signal end the program.
void save(int signal_number) {
    int const file = open(artifact.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    bool const written = file >= 0 && write(file, current.data(), current.size()) >= 0;
    auto const say = [](char const* text) {
        if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
    };
    if (signal_number == SIGALRM) say("FINDING: an input takes too long\n");
    say(written ? "the input is in " : "the input could not be written to ");
    say(artifact.c_str());
    say("\n");
    std::signal(signal_number, SIG_DFL);
    raise(signal_number);
}

void run(input const& bytes) {
    current = bytes;
    alarm(most_seconds);
    try {
        LLVMFuzzerTestOneInput(current.data(), current.size());
    } catch (fuzz::found const&) {
        std::abort();
    }
    alarm(0);
}

/// Findings by their sentences without numbers, and crashes by where they happened, for --all.
std::map<std::string, std::string> findings;
int to_parent = -1;

void tell_place(int signal_number, siginfo_t*, void* context) {
    char text[64];
    auto const at = static_cast<unsigned long long>(place_of(context));
    int const length = std::snprintf(text, sizeof text, "signal %d at 0x%llx", signal_number, at);
    if (write(to_parent, text, static_cast<std::size_t>(length)) < 0) _exit(2);
    _exit(1);
}

/// Runs an input in a process of its own and notes what it found.
void run_apart(input const& bytes) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    pid_t const child = fork();
    if (child == 0) {
        to_parent = ends[1];
        struct sigaction tell{};
        tell.sa_sigaction = tell_place;
        tell.sa_flags = SA_SIGINFO;
        for (int const each : deadly) sigaction(each, &tell, nullptr);
        alarm(3);
        std::string sentence;
        try {
            LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
        } catch (fuzz::found const& found) {
            sentence = found.what();
        }
        if (write(to_parent, sentence.data(), sentence.size()) < 0) _exit(2);
        _exit(0);
    }
    close(ends[1]);
    char text[2000];
    std::string sentence;
    for (ssize_t length; (length = read(ends[0], text, sizeof text)) > 0;)
        sentence.append(text, static_cast<std::size_t>(length));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (sentence.empty()) return;
    auto key = sentence;
    if (!key.starts_with("signal")) std::erase_if(key, [](char c) { return (c >= '0' && c <= '9') || c == '-'; });
    auto const file = artifact + "-" + std::to_string(findings.size() + 1);
    if (!findings.emplace(key, file + ": " + sentence).second) return;
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<input> corpus_in(std::vector<fs::path> const& places) {
    std::vector<fs::path> files;
    for (auto const& place : places) {
        if (!fs::is_directory(place)) files.push_back(place);
        else
            for (auto const& entry : fs::directory_iterator(place)) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<input> inputs;
    for (auto const& file : files) {
        std::ifstream stream(file, std::ios::binary);
        if (!stream) throw std::runtime_error("cannot open " + file.string());
        inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    }
    return inputs;
}

/// A stored input with a few bytes changed, put in, taken out or taken from another one; or a new one.
input drawn(fuzz::stream& random, std::vector<input> const& corpus) {
    auto const number = [&](std::size_t count) { return static_cast<std::size_t>(random.below(count)); };
    auto const byte = [&] { return static_cast<std::uint8_t>(random.next()); };
    input made;
    if (corpus.empty() || number(4) == 0) {
        made.resize(number(200));
        for (auto& b : made) b = number(3) == 0 ? std::uint8_t{0} : byte();
        return made;
    }
    made = corpus[number(corpus.size())];
    for (std::size_t changes = 1 + number(8); changes > 0; --changes) {
        auto const at = made.begin() + static_cast<std::ptrdiff_t>(number(made.size() + 1));
        switch (number(6)) {
            case 0:
                if (made.size() < longest) made.insert(at, byte());
                break;
            case 1:
                if (at != made.end()) made.erase(at);
                break;
            case 2: {
                auto const& other = corpus[number(corpus.size())];
                auto const from = std::min(number(other.size() + 1), other.size());
                auto const length =
                    std::min({number(16), other.size() - from, longest - std::min(longest, made.size())});
                auto const first = other.begin() + static_cast<std::ptrdiff_t>(from);
                made.insert(at, first, first + static_cast<std::ptrdiff_t>(length));
                break;
            }
            case 3:
                if (at != made.end()) *at = static_cast<std::uint8_t>(*at ^ (1u << number(8)));
                break;
            default:
                if (at != made.end()) *at = byte();
        }
    }
    return made;
}

std::uint64_t parsed(std::string const& text) {
    std::uint64_t value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) throw std::runtime_error(text + " is not a number");
    return value;
}

int run_all(std::vector<std::string> const& arguments) {
    std::uint64_t seed = std::random_device{}(), runs = 20000;
    bool goes_on = false;
    std::vector<fs::path> places;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        bool const has_value = i + 1 < arguments.size();
        if (arguments[i] == "--seed" && has_value) seed = parsed(arguments[++i]);
        else if (arguments[i] == "--runs" && has_value) runs = parsed(arguments[++i]);
        else if (arguments[i] == "--artifacts" && has_value) {
            fs::create_directories(arguments[++i]);
            artifact = arguments[i] + "/crash";
        } else if (arguments[i] == "--all") goes_on = true;
        else if (arguments[i] == "--show") fuzz::shows = true;
        else places.emplace_back(arguments[i]);
    }
    auto const corpus = corpus_in(places);
    std::printf("%zu stored inputs, then %llu drawn from --seed %llu\n", corpus.size(),
                static_cast<unsigned long long>(runs), static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    auto const start = std::chrono::steady_clock::now();
    auto const one = [&](input const& bytes) { goes_on ? run_apart(bytes) : run(bytes); };
    for (auto const& bytes : corpus) one(bytes);
    fuzz::stream random(seed);
    for (std::uint64_t i = 0; i < runs; ++i) one(drawn(random, corpus));
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
    std::printf("%llu executions in %.1f s, findings: %zu\n", static_cast<unsigned long long>(runs + corpus.size()),
                took.count(), findings.size());
    for (auto const& [sentence, text] : findings) std::printf("%s\n", text.c_str());
    return findings.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    for (int const each : deadly)
        if (!fuzz::is_sanitized || each == SIGABRT || each == SIGALRM) std::signal(each, save);
    try {
        return run_all({argv + 1, argv + argc});
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
