// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/fixed_order.hpp>

namespace fovea::FOVEA_SET {

/// batch_invariant: the same bits for the same query over the same keys, whatever else is in the call.
///
///     O = attend(Q, K, V);   attend(q_i, K, V) = o_i
///
/// Decoding, chunks and prefill agree, and any number of queries, of keys that are not seen, of heads that share keys,
/// of sequences, pages and threads. Keys are numbered from the first of their sequence, which must be the same.
/// Cost: one layout of keys, one order of sums; one query of a long cache uses as many threads as there are heads.
/// Gradients: in the usual order.
/// Edge cases: bits depend on compiler, flags and processor, as without it.
/// Errors: at compile time, with neighbors, running_state, max_pool, precision or ranks, and where whole rows are read:
/// with sparsemax, keep or outputs of weights.
/// Source: He 2025 (Defeating nondeterminism in LLM inference).
inline constexpr batch_invariant_t batch_invariant{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
