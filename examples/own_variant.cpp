// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A variant of one's own: a penalty for distance, soft-capped scores, a window, and a first token that all see.
#include <fovea/fovea.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;  // score, head, q_idx, kv_idx and the others

int main() {
    tensor<float, 4> x({1, 2, 8, 16}), result(x.extents), share({1, 2, 8, 8});
    for (std::size_t i = 0; i < x.elements.size(); ++i) x.elements[i] = std::sin(static_cast<float>(i));
    std::vector<float> const slopes{0.5f, 0.0625f};  // one for each head

    auto const mine = scaled_dot
                    | rescore(score - param(slopes)[head] * (q_idx - kv_idx))
                    | rescore(5 * tanh(score / 5))
                    | (causal && (where(q_idx - kv_idx < 4) || where(kv_idx == 0)))
                    | softmax | weighted_sum;
    attend(mine, x, result, weights(share));

    for (index_t h = 0; h < 2; ++h) {
        std::printf("head %d, last query:", static_cast<int>(h));
        for (index_t j = 0; j < 8; ++j) std::printf(" %.2f", double{share(0, h, 7, j)});
        std::puts("");
    }
}
// prints
// head 0, last query: 0.01 0.00 0.00 0.00 0.01 0.22 0.01 0.75
// head 1, last query: 0.13 0.00 0.00 0.00 0.02 0.33 0.01 0.51
