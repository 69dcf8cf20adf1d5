// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/mask/where.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// document: sequences packed one after another: a query sees the keys of its own document.
///
///     ids[q_idx] == ids[kv_idx]
///     document(ids) | causal    document(query_ids, key_ids)
///
/// Shapes: `ids` is (position), integers; queries and keys may have separate tables. They are kept as views.
/// Cost: tiles across two documents are never visited, tiles within one are not masked: the smallest and the largest id
/// of a tile decide.
/// Edge cases: documents need not be contiguous. Piped with `causal`, each document is causal by itself.
/// Errors: shape_error where a table has fewer elements than there are positions.
template <class QueryIds, class KeyIds>
constexpr auto document(QueryIds&& query_ids, KeyIds&& key_ids) {
    using namespace placeholders;
    return where(param(std::forward<QueryIds>(query_ids))[q_idx] == param(std::forward<KeyIds>(key_ids))[kv_idx]);
}
template <class Ids>
constexpr auto document(Ids&& ids) {
    using namespace placeholders;
    auto const all = param(std::forward<Ids>(ids));
    return where(all[q_idx] == all[kv_idx]);
}

}  // namespace fovea::FOVEA_SET
