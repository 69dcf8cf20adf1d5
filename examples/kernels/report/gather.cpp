// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels/calls/libraries.hpp"
#include "kernels/report/results.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace report {
namespace {

/// How far the timing of a level is: a line that is written over on a terminal.
class progress {
public:
    explicit progress(std::string level) : level_(std::move(level)) { say("starts"); }
    void say(std::string const& what) {
        if (terminal_) std::fprintf(stderr, "\r%-12s %3zu timed, %-40s", level_.c_str(), timed_, what.c_str());
    }
    void timed(std::string const& what) {
        ++timed_;
        say(what);
    }
    ~progress() {
        if (terminal_) std::fputs("\r", stderr);
        std::fprintf(stderr, "%-12s %3zu kernels timed %40s\n", level_.c_str(), timed_, "");
    }
    progress(progress const&) = delete;
    progress& operator=(progress const&) = delete;

private:
    std::string level_;
    std::size_t timed_ = 0;
    bool terminal_ = isatty(STDERR_FILENO) == 1;
};

double number(std::string const& text) { return std::strtod(text.c_str(), nullptr); }

void add_times(figures& f, std::vector<std::string> const& line) {
    f.operations = number(line.at(3));
    f.seconds = number(line.at(4));
    f.plain_seconds = number(line.at(5));
    f.peak = number(line.at(6));
    f.bytes = number(line.at(7));
    f.bandwidth = number(line.at(8));
}

/// A neighbour on the machine slows a measured peak as it slows a kernel, but never the other way round: the greatest
/// of a level is that of all its kernels.
void share_peaks(results& all, std::string const& name) {
    double peaks[] = {0, 0};  // of float and of double
    auto const for_each_of_level = [&](auto const& f) {
        for (auto& each : all.kernels)
            if (auto const on = each.on.find(name); on != each.on.end()) f(on->second, peaks[each.type == "f64"]);
    };
    for_each_of_level([](figures const& of, double& peak) { peak = std::max(peak, of.peak); });
    for_each_of_level([](figures& of, double peak) { of.peak = peak; });
    for (auto& level : all.levels) {
        if (level.name != name) continue;
        level.peak_f32 = std::max(level.peak_f32, peaks[0]);
        level.peak_f64 = std::max(level.peak_f64, peaks[1]);
    }
}

}  // namespace

kernel& results::find(std::string const& name, std::string const& type) {
    for (auto& each : kernels)
        if (each.name == name && each.type == type) return each;
    throw std::runtime_error("there is no kernel " + name + " for " + type);
}

results gather(std::string const& list_of_units) {
    results all;
    all.built = calls::levels();
    for (auto const& of : calls::libraries())
        for (auto const& each : of.kernels)
            all.kernels.push_back({of.name, each.name, each.type, each.specification, each.formula, {}});
    for (auto const& each : read_units(list_of_units)) {
        if (each.is_shared()) {
            all.shared.push_back(each);
            continue;
        }
        auto const bar = each.name.rfind('_');
        auto& to = all.find(each.name.substr(0, bar), each.name.substr(bar + 1)).on[each.level];
        to.text = each.text;
        to.compile_seconds = each.seconds;
    }
    return all;
}

void time_level(char const* self, std::string const& name, results& to) {
    progress shown(name);
    int const status = calls::run_limited(self, "kernel_speed_" + name, name, [&](std::string const& text) {
        auto const line = calls::fields_of(text);
        if (line.at(0) == "level")
            to.levels.push_back({line.at(1), line.at(2), number(line.at(3)), number(line.at(4))});
        if (line.at(0) != "timed") return;
        add_times(to.find(line.at(1), line.at(2)).on[name], line);
        shown.timed(line.at(1) + " " + line.at(2));
    });
    if (status != EXIT_SUCCESS) throw std::runtime_error("kernel_speed_" + name + " has failed");
    share_peaks(to, name);
}

}  // namespace report
