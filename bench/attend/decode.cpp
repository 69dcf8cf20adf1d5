// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One query per head against a long cache: the speed of memory is the limit.
#include "bench/pair_rows.hpp"

namespace {

using bench::shape;

template <class T>
void decode(shape const& s) {
    bench::add_pair_rows(
        bench::variant<T, decltype(bench::plain)>{.family = "decode", .spec = bench::plain, .reads = true}, s,
        s.length * s.keys);
}

bench::family const rows([] {
    for (bench::index_t const queries : {1, 8}) {
        decode<float>({.heads = 32, .kv_heads = 8, .length = queries, .keys = 16384, .size = 128});
        decode<fovea::bfloat16>({.heads = 32, .kv_heads = 8, .length = queries, .keys = 16384, .size = 128});
    }
    decode<float>({.heads = 32, .kv_heads = 8, .length = 1, .keys = 16384, .size = 128, .threads = 2});
});

}  // namespace
