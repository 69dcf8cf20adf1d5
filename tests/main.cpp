// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The main function of every test program, compiled once: Catch2 2 brings its body along in the header.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include "catch.hpp"

#ifdef FOVEA_TEST_WITHOUT_THREADS
#include <pthread.h>
#include <cerrno>

/// None are to be had, so that calls run on the thread that asks: an emulator hangs in programs with several.
extern "C" int pthread_create(pthread_t*, pthread_attr_t const*, void* (*)(void*), void*) noexcept { return EAGAIN; }
#endif

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
