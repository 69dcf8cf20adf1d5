// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One query per head against a long cache: the speed of memory is the limit.
#include "bench/pair_rows.hpp"

namespace {

using bench::shape;

void decode(shape const& s) {
    bench::add_pair_rows(
        bench::variant<float, decltype(bench::plain)>{.family = "decode", .spec = bench::plain, .reads = true}, s,
        s.length * s.keys);
}

bench::family const rows([] {
    decode({.heads = 32, .kv_heads = 8, .length = 1, .keys = 16384, .size = 128});
    decode({.heads = 32, .kv_heads = 8, .length = 1, .keys = 16384, .size = 128, .threads = 2});
});

}  // namespace
