// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward and backward of softmax over products, with all keys visible and with those after the query left out.
#include "bench/train_rows.hpp"

namespace {

using bench::index_t;
using bench::shape;

constexpr auto masked = fovea::scaled_dot | fovea::causal | fovea::softmax | fovea::weighted_sum;

template <class T>
void dense(shape const& s) {
    bench::add_train_row<T>("dense", bench::plain, s, s.length * s.length);
}
void causal(shape const& s) {
    bench::add_train_row<float>("causal", masked, s, s.length * (s.length + 1) / 2, {.causal = true});
}

bench::family const rows([] {
    for (index_t const size : {64, 128}) {
        dense<float>({.heads = 8, .length = 2048, .size = size});
        causal({.heads = 8, .length = 2048, .size = size});
    }
    dense<float>({.heads = 8, .length = 512, .size = 64});
    dense<float>({.heads = 8, .length = 2048, .size = 64, .threads = 2});
    dense<fovea::bfloat16>({.heads = 8, .length = 2048, .size = 64});
    dense<double>({.heads = 8, .length = 512, .size = 64});
    causal({.heads = 32, .kv_heads = 8, .length = 1024, .size = 128});
});

}  // namespace
