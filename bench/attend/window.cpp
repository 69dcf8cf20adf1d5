// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A query sees itself and the 255 keys before it: linear in the length.
#include "bench/pair_rows.hpp"

namespace {

using bench::index_t;
using namespace fovea::placeholders;

constexpr index_t width = 256;
constexpr auto spec =
    fovea::scaled_dot | fovea::causal | fovea::where(q_idx - kv_idx < width) | fovea::softmax | fovea::weighted_sum;

bench::family const rows([] {
    for (index_t const length : {256, 512, 1024, 2048, 4096, 8192})
        bench::add_pair_rows(bench::variant<float, decltype(spec)>{"window", spec, {.causal = true, .window = width}},
                             {.heads = 8, .length = length, .size = 64}, width * length - width * (width - 1) / 2);
});

}  // namespace
