// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/score/compare.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// key_only: a score that depends on the key alone, the same for all queries: pooling with learned attention.
///
///     s_j = sum_c v_c k_jc
///
/// Shapes: `v` is (feature), kept as a view.
/// Cost: one number for each key; for each pair, only the normalizer.
/// Gradients: of key and `v`.
/// Edge cases: queries determine only the number of results.
/// Errors: shape_error where v and the key have different numbers of features.
/// Source: Yang et al. 2016, equation 6, without the hidden layer.
template <class Vector>
constexpr auto key_only(Vector&& v) {
    using namespace placeholders;
    return compare(sum(param(std::forward<Vector>(v)) * k));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed key_only(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
