// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two calls, compiled once as they are and once for size; NAME says which.
#include <fovea/fovea.hpp>

void NAME(bool is_causal, fovea::workspace& scratch, fovea::view<float const, 4> query, fovea::view<float const, 4> key,
          fovea::view<float const, 4> value, fovea::view<float, 4> result);

void NAME(bool is_causal, fovea::workspace& scratch, fovea::view<float const, 4> query, fovea::view<float const, 4> key,
          fovea::view<float const, 4> value, fovea::view<float, 4> result) {
    using namespace fovea;
    if (is_causal) attend(scratch, scaled_dot | causal | softmax | weighted_sum, query, key, value, result);
    else attend(scratch, scaled_dot | softmax | weighted_sum, query, key, value, result);
}
