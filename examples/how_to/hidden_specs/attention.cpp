// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! [source]
#include "attention.hpp"

#include <fovea/fovea.hpp>

namespace model {

using namespace fovea;
using namespace fovea::placeholders;

void alibi_attention(operand query, operand key, operand value, view<float const, 1> slopes, result to) {
    attend(scaled_dot | alibi(slopes) | causal | softmax | weighted_sum, query, key, value, to);
}

void windowed_attention(operand query, operand key, operand value, index_t window, result to) {
    attend(scaled_dot | causal | where(q_idx - kv_idx < window) | softmax | weighted_sum, query, key, value, to);
}

}  // namespace model
//! [source]
