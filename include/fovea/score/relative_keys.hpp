// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/score/compare.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// relative_keys: scaled dot product with keys that also know how far away they are.
///
///     s_ij = sum_c q_ic (k_jc + r_c) / sqrt(d),   r = table[clamp(kv_idx - q_idx, -reach, reach) + reach]
///
/// table is (2 reach + 1, feature); distances beyond the reach share its ends. Cost: one matrix product, and one
/// multiply-add with a number that is looked up for each feature and pair: no table of query times distance is stored.
/// Errors: shape_error where the table has another number of features than the query.
/// Source: Shaw, Uszkoreit and Vaswani 2018, equation 5.
template <class Table>
constexpr auto relative_keys(Table&& table) {
    using namespace placeholders;
    auto const all = param(std::forward<Table>(table));
    index_t const reach = (all.table.extent(0) - 1) / 2;
    auto const distance = min(max(kv_idx - q_idx, -reach), reach) + reach;
    return compare((sum(q * k) + sum(q * all[distance])) * rsqrt(dim));
}

}  // namespace fovea::FOVEA_SET
