// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// weighted_sum: the values of the keys, added with their weights.
///
///     out_ic = sum_j w_ij v_jc
///
/// Linear in the weights, so a factor that changes from tile to tile is applied to the sum so far.
/// Cost: one multiply-add per feature of the value and pair; a copy where the weights are one-hot.
struct weighted_sum_t : stage<role::aggregator> {
    static constexpr std::string_view name = "weighted_sum";
    static constexpr bool linear = true;

    /// The sum so far with one more key: sum + weight * value.
    template <class V, class W>
    [[gnu::always_inline]] static constexpr V step(V const& sum, W const& weight, V const& value) {
        return sum + weight * value;
    }
};
inline constexpr weighted_sum_t weighted_sum{};

}  // namespace fovea::FOVEA_SET
