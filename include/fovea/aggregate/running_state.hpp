// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/spec/recurrence.hpp>

namespace fovea::FOVEA_SET {

/// running_state: the weighted sum of the values by way of a state that keys and values are added to.
///
///     S += k_j v_j^T,   out_i = S^T q_i        the same as weighted_sum, (d_k + 1) d_v numbers instead of all keys
///
/// Behind a score that is a product, such as feature_map(elu(q) + 1) or scaled_dot, with causal or without a mask, and
/// unnormalized or proportional. gated(decay) and delta(rate) behind it change how the state runs; past_state(view) and
/// present_state(view) bring it in and out of a call. S is (batch, key head, feature of k, feature of v); with
/// proportional a last column holds the sum of the keys.
/// Cost: 4 d_k d_v operations per key and query, whatever the length. Source: Katharopoulos et al. 2020, section 3.
inline constexpr recurrence<> running_state{};

}  // namespace fovea::FOVEA_SET
