// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/as_view.hpp>
#include <fovea/expr/param.hpp>
#include <fovea/expr/placeholder.hpp>

namespace fovea::FOVEA_SET {

namespace detail {
/// An axis of extent 1 stands for all positions along it: its elements repeat.
template <class T, int Rank>
constexpr view<T, Rank> repeated(view<T, Rank> table) {
    constexpr index_t everywhere = index_t{1} << 40;
    for (std::size_t axis = 0; axis < std::size_t{Rank}; ++axis)
        if (table.extents[axis] == 1) {
            table.extents[axis] = everywhere;
            table.strides[axis] = 0;
        }
    return table;
}
}  // namespace detail

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
