// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every query sees every key: the plain form, where only the kernel counts.
#include "bench/pair_rows.hpp"

namespace {

using bench::index_t;
using bench::shape;

template <class T>
void dense(shape const& s) {
    bench::add_pair_rows<T>(bench::variant<T, decltype(bench::plain)>{"dense", bench::plain}, s, s.length * s.length);
}

bench::family const rows([] {
    for (index_t const length : {128, 256, 512, 1024, 2048, 4096})
        dense<float>({.heads = 8, .length = length, .size = 64});
    for (index_t const size : {16, 40, 80, 128, 256}) dense<float>({.heads = 8, .length = 2048, .size = size});
    dense<float>({.heads = 8, .length = 2048, .size = 64, .threads = 2});
    for (index_t const length : {256, 2048}) dense<fovea::bfloat16>({.heads = 8, .length = length, .size = 64});
    dense<fovea::bfloat16>({.heads = 8, .length = 2048, .size = 128});
    for (index_t const length : {256, 2048}) dense<fovea::float16>({.heads = 8, .length = length, .size = 64});
    dense<double>({.heads = 8, .length = 2048, .size = 64});
    dense<double>({.heads = 8, .length = 512, .size = 64});
});

}  // namespace
