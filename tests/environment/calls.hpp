// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

/// Numbers in C order that a call gave: as computed, by the definition, and by plain loops in the same type.
struct call_results {
    char const* name;
    float const* got;
    double const* expected;
    float const* plain;
    std::size_t count;
    bool same_on_threads;  // the bits on three threads
};

/// The frame around the calls of the engine and of the plain loops, and the use of their results.
struct surroundings {
    void (*begin)();
    void (*end)();
    void (*take)(call_results const&);
};
