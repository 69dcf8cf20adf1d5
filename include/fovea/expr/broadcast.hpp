// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/as_view.hpp>
#include <fovea/core/repeated.hpp>
#include <fovea/expr/param.hpp>
#include <fovea/expr/placeholder.hpp>

namespace fovea::FOVEA_SET {

/// of_pair: the element of a table for a pair: its axes are the last ones of (batch, head, query, key), and an axis of
/// extent 1 stands for all positions along it.
template <class Table>
constexpr auto of_pair(Table&& of_pairs) {
    static_assert(
        !is_temporary_owner<Table>,
        "fovea: param keeps a view, and this container is a temporary, destroyed at the end of the statement");
    auto const table = detail::view_of(of_pairs);
    constexpr int rank = decltype(table)::rank;
    static_assert(rank >= 1 && rank <= 4,
                  "fovea: a table over pairs is (key), (query, key), (head, query, key) or (batch, head, query, key)");
    using namespace placeholders;
    auto const all = param(detail::repeated(table));
    if constexpr (rank == 1) return all(kv_idx);
    else if constexpr (rank == 2) return all(q_idx, kv_idx);
    else if constexpr (rank == 3) return all(head, q_idx, kv_idx);
    else if constexpr (rank == 4) return all(batch, head, q_idx, kv_idx);
    else return literal<typename decltype(table)::value_type>{};
}

}  // namespace fovea::FOVEA_SET
