// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One head of 16 positions: half of it is what a call costs before its first product, and after its last.
#include <fovea/fovea.hpp>

#include "call.hpp"

std::function<void()> regression::prepare() {
    static auto const query = numbers(1, 1, 1, 16, 16), key = numbers(2, 1, 1, 16, 16),
                      value = numbers(3, 1, 1, 16, 16);
    static fovea::tensor<float, 4> result({1, 1, 16, 16});
    static fovea::workspace scratch;
    auto const call = [] {
        fovea::attend(scratch, fovea::scaled_dot | fovea::softmax | fovea::weighted_sum, query, key, value, result);
    };
    call();  // once more than others: the second call joins the pieces of scratch that the first has taken
    return call;
}
