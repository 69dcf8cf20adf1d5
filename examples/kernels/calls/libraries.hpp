// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The libraries of the set, and the architectures (levels) that they are built for.
#pragma once

#include <fovea/bindings/types.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace calls {

struct library {
    std::string name;
    std::vector<std::string> levels;
    std::span<fovea_kernel const> kernels;
    fovea_workspace* (*create_workspace)();
    void (*destroy_workspace)(fovea_workspace*);
};
std::vector<library> const& libraries();

/// The levels of all libraries, the least first.
std::vector<std::string> const& levels();

/// Whether the code of a level is ever chosen on this processor.
bool runs_here(std::string const& level);

/// Why a kernel has no code of a level to run in this process, which FOVEA_ARCHITECTURE limits to it; empty where it
/// has.
std::string why_skipped(library const& of, fovea_kernel const& kernel, std::string const& level);

/// Runs a program that lies beside this one, limited to a level, and calls on_line for each line that it prints.
/// Returns its exit status. `self` is what this program was started as.
int run_limited(std::string const& self, std::string const& program, std::string const& level,
                std::function<void(std::string const&)> const& on_line);

/// The parts of a line between tabs.
std::vector<std::string> fields_of(std::string const& line);

}  // namespace calls
