// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of the units of the libraries: their code, and the compiler's time.
#pragma once

#include <string>
#include <vector>

namespace report {

/// One object of a library. Those without a kernel serve all kernels of their level: the engine and the headers.
struct unit {
    std::string library, level, path, name;  // "causal_f32", "compiled", "headers"
    double text = 0;                         // bytes of code and constants
    double seconds = 0;                      // of the processor, to compile it

    bool is_shared() const { return name == "compiled" || name == "headers"; }
};

/// The units that a list names, a line for each: library, level, object.
/// Errors: std::runtime_error where the list, an object or the program `size` is missing.
std::vector<unit> read_units(std::string const& list);

}  // namespace report
