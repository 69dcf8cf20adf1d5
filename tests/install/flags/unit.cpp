// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled in several targets, each with its name for ATTEND.
#include <fovea/fovea.hpp>

using namespace fovea;

void ATTEND(view<float const, 4> x, view<float, 4> result) {
    attend(scaled_dot | causal | softmax | weighted_sum, x, x, x, result);
}
