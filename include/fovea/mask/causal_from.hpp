// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/mask/where.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// causal_from: causal with the first query at a given position, for queries that continue a cache.
///
///     kv_idx <= q_idx + offset
///     causal_from(128)    causal_from(cached)    causal_from(param(cached)[batch])
///
/// Shapes: the offset is a number, a table (batch) of integers, kept as a view, or an expression of batch and head.
/// Cost: empty tiles are never visited, full tiles are not masked.
/// Edge cases: 0 is `causal`, kv_len - q_len is causal_at_end. With a negative offset the first queries see no key and
/// get zeros.
/// Errors: shape_error where a table of offsets has fewer elements than the batch.
/// Source: the operator Attention of ONNX, whose offset is the number of past keys.
template <class Offset>
constexpr auto causal_from(Offset&& offset) {
    using namespace placeholders;
    return where(kv_idx <= q_idx + detail::computed_or_table(std::forward<Offset>(offset), batch));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed causal_from(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
