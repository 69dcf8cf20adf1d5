// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/ieee.hpp>
#include <fovea/expr/function_operations.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// max_pool: the largest weighted value of the visible keys, feature by feature.
///
///     out_ic = max_j w_ij v_jc
///
/// Shapes: the result has the features of the value.
/// Cost: a multiplication and a comparison for each feature and pair; one running maximum per feature.
/// Edge cases: a query that sees no key gets zeros; a weighted value that is NaN makes the result NaN. After
/// `unnormalized` with scores of one it is the plain maximum; after `hardmax` the keys that lose take part with weight
/// 0.
/// Source: Qi et al. 2017 (PointNet), section 4.2.
struct max_pool_t : stage<role::aggregator> {
    static constexpr std::string_view name = "max_pool";
    static constexpr double start = -ieee::infinity<double>;

    /// The greatest so far and one more key; a NaN stays.
    template <class V, class W>
    FOVEA_INLINE static constexpr V step(V const& so_far, W const& weight, V const& value) {
        V const greatest = V(operations::max::apply(V(weight * value), so_far));
        return V(operations::select::apply(so_far == so_far, greatest, so_far));
    }
};
inline constexpr max_pool_t max_pool{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
