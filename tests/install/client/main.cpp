// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

#include <cstdio>

// Every value is 3, so whatever the weights are, every output must be 3.
int main() {
    using namespace fovea;
    tensor<float, 4> const query({1, 2, 5, 8}, 0.5f), key({1, 2, 7, 8}, 0.25f), value({1, 2, 7, 8}, 3.f);
    tensor<float, 4> result({1, 2, 5, 8});
    attend(scaled_dot | causal | softmax | weighted_sum, query.view(), key.view(), value.view(), result.view());

    for (float const x : result) {
        if (x < 2.9999f || x > 3.0001f) {
            std::printf("client: an output is %g and must be 3\n", x);
            return 1;
        }
    }
    std::puts("client: every output is 3, as it must be");
}
