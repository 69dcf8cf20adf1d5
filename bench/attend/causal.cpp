// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys after the query are invisible; work that is not needed is not counted, so skipping it is what counts.
#include "bench/pair_rows.hpp"

namespace {

using bench::index_t;
using bench::shape;

constexpr auto spec = fovea::scaled_dot | fovea::causal | fovea::softmax | fovea::weighted_sum;

void causal(shape const& s) {
    bench::add_pair_rows(bench::variant<float, decltype(spec)>{"causal", spec, {.causal = true}}, s,
                         s.length * (s.length + 1) / 2);
}

bench::family const rows([] {
    for (index_t const length : {256, 512, 1024, 2048, 4096}) causal({.heads = 8, .length = length, .size = 64});
    for (index_t const length : {1024, 2048}) causal({.heads = 8, .length = length, .size = 128});
    causal({.heads = 32, .kv_heads = 8, .length = 1024, .size = 128});
    causal({.heads = 8, .length = 2048, .size = 64, .threads = 2});
});

}  // namespace
