// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/keep/keep.hpp>
#include <fovea/keep/top_k.hpp>
#include <fovea/normalize/softmax.hpp>

namespace fovea::FOVEA_SET {

/// top_k_softmax: softmax over the k largest scores of each query; all other keys have weight 0.
///
///     w_j = exp(s_j) / sum_(m in top) exp(s_m) for the k keys with the largest scores, else 0
///     top_k_softmax(8) is keep(top_k(8)) | softmax
///
/// Cost: the scores of a few queries over all keys are kept; `top_k` says how the k largest are found. Only the values
/// of the k keys are read.
/// Edge cases: ties go to the lowest positions; scores may be as large as their type allows. With fewer keys than k it
/// is `softmax`; where a query sees no key, weights are 0. The log-sum-exp is that of the k keys.
/// Errors: std::invalid_argument for k below 1.
/// Source: Gupta et al. 2021, section 2.
constexpr auto top_k_softmax(integer_argument k) { return (keep(top_k(k)) | softmax).normalize; }
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed top_k_softmax(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
