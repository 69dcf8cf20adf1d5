// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/integer_argument.hpp>
#include <fovea/mask/where.hpp>

#include <algorithm>
#include <utility>

namespace fovea::FOVEA_SET {

/// block_list: whole blocks of pairs are visible or not, according to a table that was learned or chosen at run time.
///
///     seen[q_idx / query_block, kv_idx / key_block] != 0
///
/// Shapes: `seen` is (query block, key block) or (head, query block, key block), of bool, integers or packed_bits; it
/// is kept as a view.
/// Cost: empty blocks are never visited, full ones are not masked.
/// Edge cases: block sizes below 1 count as 1.
/// Errors: shape_error where the table has fewer blocks than the call.
template <class Table>
constexpr auto block_list(Table&& seen, integer_argument query_block, integer_argument key_block) {
    using namespace placeholders;
    auto const table = detail::table_param<0>(std::forward<Table>(seen));
    constexpr int rank = decltype(table)::rank;
    static_assert(rank == 2 || rank == 3,
                  "fovea: a block list is (query block, key block) or (head, query block, key block)");
    auto const row = q_idx / std::max<index_t>(query_block, 1);
    auto const column = kv_idx / std::max<index_t>(key_block, 1);
    if constexpr (rank == 2) return where(detail::holds(table(row, column)));
    else if constexpr (rank == 3) return where(detail::holds(table(head, row, column)));
    else return ill_formed{};
}
template <class... Others>
    requires(sizeof...(Others) != 3)
constexpr ill_formed block_list(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
