// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of a project of its own: three positions that look at themselves and at those before them.
//! [program]
#include <fovea/fovea.hpp>

#include <cstdio>

using namespace fovea;

int main() {
    tensor<float, 2> x({3, 2}), result({3, 2});  // (position, feature)
    x.elements = {1, 0, 0, 1, 1, 1};
    attend(scaled_dot | causal | softmax | weighted_sum, x, x, x, result);
    for (index_t i = 0; i < 3; ++i) std::printf("%.3f %.3f\n", double{result(i, 0)}, double{result(i, 1)});
}
//! [program]
// prints
// 1.000 0.000
// 0.330 0.670
// 0.752 0.752
