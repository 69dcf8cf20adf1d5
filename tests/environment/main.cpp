// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls in one mode of the floating-point unit, which the first argument names.
#include "mode.hpp"

void calls(surroundings const&);

int main(int argc, char** argv) { return run_in_mode(argc, argv, calls); }
