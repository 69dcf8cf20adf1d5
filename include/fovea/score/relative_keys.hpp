// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/score/compare.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// relative_keys: scaled dot product with a learned vector added to each key according to its distance.
///
///     s_ij = sum_c q_ic (k_jc + r_c) / sqrt(d),   r = table[clamp(kv_idx - q_idx, -reach, reach) + reach]
///
/// Shapes: `table` is (2 reach + 1, feature), kept as a view.
/// Cost: one matrix product with the keys, one with the vectors within reach, and one lookup for each pair; see
/// how_to/relative_positions.md for distances without a reach.
/// Gradients: of query, key and `table`.
/// Edge cases: distances beyond the reach use the ends of the table.
/// Errors: shape_error where the table and the query have different numbers of features, or the table an even number of
/// distances.
/// Source: Shaw, Uszkoreit and Vaswani 2018, equation 5.
template <class Table>
constexpr auto relative_keys(Table&& table) {
    using namespace placeholders;
    auto const all = detail::table_param<2>(std::forward<Table>(table));
    index_t const reach = detail::reach_of_distances("relative_keys", all.table.extent(0));
    auto const distance = min(max(kv_idx - q_idx, -reach), reach) + reach;
    return compare((sum(q * k) + sum(q * all[distance])) * rsqrt(dim));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed relative_keys(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
