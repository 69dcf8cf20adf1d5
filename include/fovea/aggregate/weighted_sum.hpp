// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// weighted_sum: the sum of the values, each times the weight of its key.
///
///     out_ic = sum_j w_ij v_jc
///
/// Shapes: values are (batch, head, key, feature); the result has their features.
/// Cost: one multiply-add for each feature of the value and each pair; a copy of one row if the weights are one-hot.
/// Edge cases: an excluded pair adds nothing, even if its value is NaN. A query that sees no key gets zeros.
/// Errors: shape_error where the result does not fit queries and values.
struct weighted_sum_t : stage<role::aggregator> {
    static constexpr std::string_view name = "weighted_sum";
    static constexpr bool linear = true;  // a factor that changes from tile to tile is applied to the sum so far

    /// The sum so far with one more key: sum + weight * value.
    template <class V, class W>
    FOVEA_INLINE static constexpr V step(V const& sum, W const& weight, V const& value) {
        return sum + weight * value;
    }
};
inline constexpr weighted_sum_t weighted_sum{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
