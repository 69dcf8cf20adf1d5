// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fewer calls, compiled as programs are, for one instruction set of several in a program.
#include "compute.hpp"

void CALLS(surroundings const&);

void CALLS(surroundings const& around) {
    sizes const many{2, 4, 2, 37, 45, 19, 21}, one{2, 1, 1, 1, 9000, 8, 8}, wide{1, 2, 2, 37, 45, 40, 21};
    testing::dice random(32);
    auto const distances = testing::random_tensor<float, 2>(random, {2 * 45 + 1, wide.features});
    compute(around, "softmax, many queries", scaled_dot | causal_at_end | softmax | weighted_sum, many);
    compute(around, "softmax, keys shared out", scaled_dot | causal_at_end | softmax | weighted_sum, one);
    compute(around, "sums over features", l1_distance(2) | softcap(3) | chunked(7) | sparsemax | weighted_sum, many);
    compute(around, "squared distances", compare(4 / (1 + squared_distance(q, k))) | softmax | weighted_sum, wide, 0.5);
    compute(around, "vectors of distances", relative_keys(distances.view()) | softmax | weighted_sum, wide);
    compute<bfloat16>(around, "bfloat16", cosine | gumbel(5) | softmax | weighted_sum, many);
}
