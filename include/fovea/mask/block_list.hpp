// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/mask/where.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// block_list: whole blocks of pairs are visible or not, according to a table that was learned or chosen at run time.
///
///     seen[q_idx / query_block, kv_idx / key_block] != 0
///
/// Shapes: `seen` is (query block, key block) or (head, query block, key block); it is kept as a view.
/// Cost: empty blocks are never visited, full ones are not masked.
/// Edge cases: block sizes below 1 count as 1.
/// Errors: shape_error where the table has fewer blocks than the call.
template <class Table>
constexpr auto block_list(Table&& seen, index_t query_block, index_t key_block) {
    using namespace placeholders;
    auto const table = detail::table_param<0>(std::forward<Table>(seen));
    constexpr int rank = decltype(table)::rank;
    static_assert(rank == 2 || rank == 3,
                  "fovea: a block list is (query block, key block) or (head, query block, key block)");
    auto const row = q_idx / (query_block < 1 ? 1 : query_block);
    auto const column = kv_idx / (key_block < 1 ? 1 : key_block);
    if constexpr (rank == 2) return where(table(row, column) != 0);
    else if constexpr (rank == 3) return where(table(head, row, column) != 0);
    else return ill_formed{};
}

}  // namespace fovea::FOVEA_SET
