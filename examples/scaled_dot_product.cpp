// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scaled dot product attention, causal, over tensors (batch, head, position, feature).
#include <fovea/fovea.hpp>

#include <cmath>
#include <cstdio>

using namespace fovea;

int main() {
    index_t const batches = 1, heads = 8, positions = 6, features = 64;
    tensor<float, 4> query({batches, heads, positions, features}), key(query.extents), value(query.extents);
    for (std::size_t i = 0; i < query.elements.size(); ++i) {
        auto const x = static_cast<float>(i);
        query.elements[i] = std::sin(x);
        key.elements[i] = std::cos(x);
        value.elements[i] = std::sin(x / 7);
    }
    tensor<float, 4> result(query.extents), share({batches, heads, positions, positions});

    constexpr auto sdpa = scaled_dot | causal | softmax | weighted_sum;
    attend(sdpa, query, key, value, result, weights(share));

    std::puts("how the positions of the first head share their attention:");
    for (index_t i = 0; i < positions; ++i) {
        for (index_t j = 0; j <= i; ++j) std::printf(" %.2f", double{share(0, 0, i, j)});
        std::puts("");
    }
}
// prints
// how the positions of the first head share their attention:
//  1.00
//  0.98 0.02
//  0.32 0.66 0.02
//  0.00 0.29 0.68 0.02
//  0.00 0.00 0.30 0.68 0.02
//  0.00 0.00 0.00 0.32 0.66 0.02
