// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/expr/functions.hpp>
#include <fovea/expr/param.hpp>

#include <string>
#include <utility>

namespace fovea::FOVEA_SET {

/// relative_values: the weighted sum of values with a learned vector added to each according to its distance.
///
///     out_ic = sum_j w_ij (v_jc + r_c),   r = table[clamp(kv_idx - q_idx, -reach, reach) + reach]
///     relative_keys(for_keys) | causal | softmax | relative_values(for_values)
///
/// Shapes: `table` is (2 reach + 1, feature of the value), kept as a view.
/// Cost: whole rows of weights are kept, and one multiply-add more for each feature and pair.
/// Edge cases: distances beyond the reach use the ends of the table. What `save` keeps is of no use to the gradient.
/// Errors: shape_error where the table and the value have different numbers of features, or the table an even number of
/// distances. At compile time, over ranks.
/// Source: Shaw, Uszkoreit and Vaswani 2018, equation 3.
template <class T>
struct relative_values_t : weighted_sum_t {
    parameter<T, 2> table{};
    index_t reach = 0;

    constexpr relative_values_t() = default;
    constexpr relative_values_t(parameter<T, 2> const& all, index_t most) : table(all), reach(most) {}

    /// The row that is added to the value of a pair, read feature by feature.
    constexpr auto added() const {
        using namespace placeholders;
        return table[min(max(kv_idx - q_idx, -reach), reach) + reach];
    }
    static std::string text() { return "relative_values(table)"; }
};

template <class Table>
constexpr auto relative_values(Table&& table) {
    auto const all = detail::table_param<2>(std::forward<Table>(table));
    using element = typename decltype(all.table)::value_type;
    static_cast<void>(detail::has_features_of_numbers<element>());
    return relative_values_t<element>(all, detail::reach_of_distances("relative_values", all.table.extent(0)));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed relative_values(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
