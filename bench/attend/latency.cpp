// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Single calls of microseconds, as a control loop, a block of audio or the next token makes them: how long one waits.
#include "bench/pair_rows.hpp"

namespace {

void latency(bench::shape const& sizes) {
    bench::add_pair_rows(bench::variant<float, decltype(bench::plain)>{.family = "latency", .spec = bench::plain},
                         sizes, sizes.length * sizes.key_length());
}

bench::family const rows([] {
    latency({.heads = 1, .length = 32, .size = 16});               // what stands around an agent
    latency({.heads = 4, .length = 1, .keys = 256, .size = 32});   // a frame of audio and those before it
    latency({.heads = 8, .length = 64, .size = 64});               // a board of squares
    latency({.heads = 8, .length = 1, .keys = 1024, .size = 64});  // the next token of a small model
});

}  // namespace
