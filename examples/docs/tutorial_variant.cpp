// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tutorial, step 2: a variant, one word after the other.
#include <fovea/fovea.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

//! [show]
void show(auto const& spec) {
    tensor<float, 4> const x({1, 2, 6, 8});  // (batch, head, position, feature), all 0: only the words differ
    tensor<float, 4> result(x.extents), w({1, 2, 6, 6});
    attend(spec, x, x, x, result, weights(w));

    std::printf("%s\n", text(spec).c_str());
    for (index_t j = 0; j < 6; ++j) std::printf("  %.3f", w(0, 0, 3, j));  // head 0, query 3
    std::printf("\n");
}
//! [show]

int main() {
    //! [variant]
    std::vector<float> const slopes{std::log(2.f), 0};  // one for each head
    auto const biased = scaled_dot | rescore(score + param(slopes)[head] * (kv_idx - q_idx));
    auto const average = softmax | weighted_sum;

    show(scaled_dot | average);
    show(scaled_dot | causal | average);
    show(biased | causal | average);
    show(biased | causal | where(q_idx - kv_idx < 3) | average);
    //! [variant]
}
