// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The main function of every test program, compiled once: Catch2 2 brings its body along in the header.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include "catch.hpp"

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
