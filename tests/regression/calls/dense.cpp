// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

#include "call.hpp"

std::function<void()> regression::prepare() {
    static auto const query = numbers(1, 1, 4, 128, 64), key = numbers(2, 1, 4, 128, 64),
                      value = numbers(3, 1, 4, 128, 64);
    static fovea::tensor<float, 4> result({1, 4, 128, 64});
    static fovea::workspace scratch;
    return [] {
        fovea::attend(scratch, fovea::scaled_dot | fovea::softmax | fovea::weighted_sum, query, key, value, result);
    };
}
