// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/score/compare.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// location: a score of the query for each position; the contents of the key do not matter.
///
///     s_ij = sum_c q_ic w_jc
///
/// Shapes: `w` is (position, feature), with a row for each key, kept as a view.
/// Cost: one matrix product, for which the rows of w are packed as keys would be.
/// Gradients: of query and `w`.
/// Errors: shape_error where w and the query have different numbers of features, or w has fewer rows than there are
/// keys.
/// Source: Luong, Pham and Manning 2015, equation 8.
template <class Table>
constexpr auto location(Table&& w) {
    using namespace placeholders;
    return compare(sum(q * detail::table_param<2>(std::forward<Table>(w))[kv_idx]));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed location(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
