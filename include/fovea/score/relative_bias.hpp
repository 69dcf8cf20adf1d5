// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/score/rescore.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// relative_bias: a learned number for each head and each distance between key and query.
///
///     s' = s + table[head, clamp(kv_idx - q_idx, -reach, reach) + reach]
///
/// Shapes: `table` is (head, 2 reach + 1), kept as a view.
/// Cost: one number read for each pair.
/// Gradients: of the score and `table`.
/// Edge cases: distances beyond the reach use the ends of the table.
/// Errors: shape_error where the table has fewer heads than the call, or an even number of distances.
/// Source: Shaw, Uszkoreit and Vaswani 2018, equation 5, with a number in place of a vector.
template <class Table>
constexpr auto relative_bias(Table&& table) {
    using namespace placeholders;
    auto const all = detail::table_param<2>(std::forward<Table>(table));
    index_t const reach = detail::reach_of_distances("relative_bias", all.table.extent(1));
    return rescore(score + all(head, min(max(kv_idx - q_idx, -reach), reach) + reach));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed relative_bias(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
