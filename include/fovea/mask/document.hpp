// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/mask/where.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

namespace detail {
template <int Rank>
constexpr bool is_rank_of_ids() {
    static_assert(Rank == 1 || Rank == 2, "fovea: the ids of documents are (position) or (batch, position)");
    return Rank == 1 || Rank == 2;
}
/// The id of a position, in a table over positions or over those of each batch.
template <class T, int Rank, class Position>
constexpr auto id_of(parameter<T, Rank> const& ids, Position const& position) {
    if constexpr (!is_rank_of_ids<Rank>()) return literal<index_t>{};
    else if constexpr (Rank == 1) return ids(position);
    else return ids(placeholders::batch, position);
}
}  // namespace detail

/// document: sequences packed one after another: a query sees the keys of its own document.
///
///     ids[q_idx] == ids[kv_idx]
///     document(ids) | causal    document(query_ids, key_ids)
///
/// Shapes: `ids` is (position) or (batch, position), integers; queries and keys may have separate tables. They are kept
/// as views.
/// Cost: tiles across two documents are never visited, tiles within one are not masked: the smallest and the largest id
/// of a tile decide.
/// Edge cases: documents need not be contiguous. Piped with `causal`, each document is causal by itself.
/// Errors: shape_error where a table has fewer elements than there are positions.
template <class QueryIds, class KeyIds>
constexpr auto document(QueryIds&& query_ids, KeyIds&& key_ids) {
    using namespace placeholders;
    return where(detail::id_of(detail::table_param<0>(std::forward<QueryIds>(query_ids)), q_idx)
                 == detail::id_of(detail::table_param<0>(std::forward<KeyIds>(key_ids)), kv_idx));
}
template <class Ids>
constexpr auto document(Ids&& ids) {
    using namespace placeholders;
    auto const all = detail::table_param<0>(std::forward<Ids>(ids));
    return where(detail::id_of(all, q_idx) == detail::id_of(all, kv_idx));
}
template <class... Others>
    requires(sizeof...(Others) != 1 && sizeof...(Others) != 2)
constexpr ill_formed document(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
