// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <stdexcept>

namespace fovea {

/// A view, table or length does not fit: the message names the argument, what it has and what was needed.
struct shape_error : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

/// A graph is not a valid neighbour list: the message names the offending offset or index.
struct graph_error : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

}  // namespace fovea
