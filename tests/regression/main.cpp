// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "call.hpp"

#include <csignal>

/// The function that callgrind counts; it knows it by this name.
extern "C" [[gnu::noinline]] void counted_call(std::function<void()> const& call) { call(); }

int main() {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return SIGILL;
#endif
    auto const call = regression::prepare();
    call();
    counted_call(call);
}
