// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of many kinds: every class of score, mask, normalizer and storage once.
#include "compute.hpp"

void calls(surroundings const&);

void calls(surroundings const& around) {
    sizes const many{2, 4, 2, 37, 45, 19, 21}, few{1, 4, 2, 2, 300, 40, 24}, one{2, 1, 1, 1, 9000, 8, 8};
    constexpr auto sdpa = scaled_dot | causal_at_end | softmax | weighted_sum;
    compute(around, "softmax, many queries", sdpa, many);
    compute(around, "softmax, few queries", sdpa, few);
    compute(around, "softmax, keys shared out", sdpa, one);
    compute(around, "softmax of small scores", sdpa, many, 1e-3);
    compute(around, "softmax of great scores", sdpa, many, 12);
    compute(around, "softmax of tiny values", sdpa, many, 2, 1e-38);
    compute(around, "soft-capping in a window",
            scaled_dot | softcap(3) | sliding_window(9, 4) | softmax_plus_one | weighted_sum, many);
    compute(around, "sums over features", l1_distance(2) | chunked(7) | sparsemax | weighted_sum, many);
    compute(around, "additive, gelu weights",
            compare(sum(tanh(q + k)) / 4 - 0.01f * (q_idx - kv_idx)) | weigh(gelu(score)) | weighted_sum, many);
    compute(around, "log and random numbers", cosine | gumbel(5) | softmax | max_pool, many);
    compute<bfloat16>(around, "bfloat16", sdpa, many);
    compute<float16>(around, "float16", gaussian(1.5) | entmax15 | weighted_sum, many);
}
