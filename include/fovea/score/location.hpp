// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/score/compare.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// location: a score of the query for each position; what the key says does not count.
///
///     s_ij = sum_c q_ic w_jc
///
/// w is (position, feature), with a row for each key. Cost: one multiply-add with a number that is looked up for each
/// feature and pair; where the rows of w can be passed as the keys, `dot` does the same as a matrix product.
/// Errors: shape_error where w has another number of features than the query, or fewer rows than there are keys.
/// Source: Luong, Pham and Manning 2015, equation 8.
template <class Table>
constexpr auto location(Table&& w) {
    using namespace placeholders;
    return compare(sum(q * param(std::forward<Table>(w))[kv_idx]));
}

}  // namespace fovea::FOVEA_SET
