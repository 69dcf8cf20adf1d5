// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "call.hpp"

#include <csignal>

/// What callgrind counts; it knows the function by this name.
extern "C" [[gnu::noinline]] void counted_call(std::function<void()> const& call) { call(); }

int main() {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return SIGILL;
#endif
    auto const call = regression::prepare();
    call();
    counted_call(call);
}
