// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tutorial, step 1: one query, three keys, and numbers that can be computed by hand.
//! [program]
#include <fovea/fovea.hpp>

#include <cmath>
#include <cstdio>

using namespace fovea;

int main() {
    tensor<float, 2> query({1, 1}), key({3, 1}), value({3, 1});  // (position, feature)
    query.elements = {1};
    key.elements = {0, std::log(2.f), std::log(5.f)};
    value.elements = {10, 20, 30};

    tensor<float, 2> result({1, 1}), w({1, 3});
    attend(dot | softmax | weighted_sum, query, key, value, result, weights(w));

    std::printf("weights %.3f %.3f %.3f\n", w(0, 0), w(0, 1), w(0, 2));
    std::printf("result  %.3f\n", result(0, 0));
}
//! [program]
