// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled twice, for two instruction sets and with two names for ATTEND.
#include <fovea/fovea.hpp>

using namespace fovea;

void ATTEND(view<float const, 4> query, view<float const, 4> key, view<float const, 4> value, view<float, 4> result) {
    attend(scaled_dot | causal | softmax | weighted_sum, query, key, value, result);
}
