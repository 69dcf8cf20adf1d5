// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Everything that is known of the kernels, gathered; it is printed as a table and written as JSON.
#pragma once

#include "kernels/report/units.hpp"

#include <map>
#include <string>
#include <vector>

namespace report {

/// One kernel on one level; what is zero is not known.
struct figures {
    double text = 0, compile_seconds = 0;
    double operations = 0, seconds = 0, plain_seconds = 0, peak = 0;
    double bytes = 0, bandwidth = 0;  // where reading them is the limit

    double gflops() const { return operations / seconds / 1e9; }
    double of_peak() const { return operations / seconds / peak; }
    double plain_gflops() const { return operations / plain_seconds / 1e9; }
    double of_bandwidth() const { return bytes / seconds / bandwidth; }
    double over_plain() const { return plain_seconds / seconds; }
};

struct kernel {
    std::string library, name, type, specification, formula;
    std::map<std::string, figures> on;  // a level
};

struct level {
    std::string name, vectors;
    double peak_f32 = 0, peak_f64 = 0;
};

struct results {
    std::vector<std::string> built;  // levels
    std::vector<level> levels;       // those that run here
    std::vector<kernel> kernels;
    std::vector<unit> shared;

    kernel& find(std::string const& name, std::string const& type);
};

/// The build, without any times.
results gather(std::string const& list_of_units);

/// Times everything on one level, and adds what came out; says on the way how far it is.
/// Errors: std::runtime_error where the program for it fails.
void time_level(char const* self, std::string const& name, results& to);

void print(results const& all);
void write_json(results const& all, std::string const& path);

}  // namespace report
