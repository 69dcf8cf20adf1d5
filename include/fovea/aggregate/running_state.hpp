// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/recurrence.hpp>

namespace fovea::FOVEA_SET {

/// running_state: the weighted sum of the values, computed from a state that accumulates keys and values.
///
///     S += g(k_j) v_j^T,   out_i = S^T f(q_i)
///
/// The score is a sum of products (feature_map, `dot`), the mask `causal` or none, the normalizer `unnormalized` or
/// `proportional`. gated(decay) and delta(rate) after it change the update.
/// Shapes: the state is (batch, key head, feature of the key, feature of the value), with `proportional` one more
/// column, the sum of the keys; past_state and present_state pass it into and out of a call; `gradient` begins at 0.
/// Cost: 2 d_k d_v operations to add a key and as many to read, whatever the length; heads run in parallel.
/// Edge cases: chunks that pass on their state, in the type of the arithmetic, give the same bits as all at once.
/// Errors: shape_error where, with `causal`, queries and keys differ in number; `lse` and `weights` do not compile.
/// Source: Katharopoulos et al. 2020, section 3.
inline constexpr recurrence<> running_state{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
